import { textOf } from '@reply/core'
import { expect, test } from 'vitest'
import { run } from '../src/index.ts'

test('a gigabyte of stdout takes no memory, and the outcome is true', async () => {
  const before = process.memoryUsage().rss
  let most = before
  let bytes = 0
  const { reply, stdout, leftOut, code } = await run({
    command: 'sh',
    args: ['-c', 'head -c 1000000000 /dev/zero | tr "\\0" x; echo end; exit 3'],
    onChunk: (_, text) => {
      bytes += text.length
      most = Math.max(most, process.memoryUsage.rss())
    },
  })
  expect([code, reply.outcome, reply.error?.message]).toEqual([3, 'failed', 'sh exited with code 3.'])
  expect(bytes).toBe(1_000_000_004)
  expect(leftOut.stdout).toBe(1_000_000_004 - 1_048_576)
  expect(stdout.endsWith('xend\n')).toBe(true)
  expect(textOf(reply).length).toBeLessThan(1_100_000)
  expect(most - before).toBeLessThan(300_000_000)
})
