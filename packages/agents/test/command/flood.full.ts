import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ReplyError, textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'
import { codex } from '../../src/codex.ts'
import { run } from '../../src/command.ts'

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

const flood = `head -c 150000000 /dev/zero | tr '\\0' x`
const completed = '{"type":"result","subtype":"success"}'

test.each([
  ['claude', claude, `read -r _; ${flood}; exit 3`, 'failed', 'ended with code 3.'],
  ['codex', codex, `read -r _; ${flood}; exit 3`, 'failed', 'ended with code 3.'],
  // The line does end, and the run goes on behind it.
  ['claude', claude, `read -r _; ${flood}; echo; echo '${completed}'; read -r _`, 'completed', undefined],
] as const)(
  '150 MB without a line break from %s take no memory, and an error says so',
  async (_, source, script, outcome, how) => {
    const folder = mkdtempSync(join(tmpdir(), 'reply-flood-'))
    const command = join(folder, 'flood')
    writeFileSync(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const errors: ReplyError[] = []
    const onError = (error: ReplyError): void => void errors.push(error)
    // Not what the process once took: its buffers say what is held.
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers)
    }, 5)
    const agent = connectSource(source({ command, graceMs: 200, onError }))
    const [ended, error] = await agent.prompt({ text: 'Go.' }).result.then(
      (reply) => [reply.outcome, reply.error?.message],
      (failure: Error) => ['failed', failure.message],
    )
    clearInterval(watch)
    await agent.close()
    rmSync(folder, { recursive: true, force: true })
    expect([ended, error]).toEqual([outcome, how && expect.stringContaining(how)])
    expect(errors.map(({ type, message }) => [type, message])).toEqual([
      ['too-large', expect.stringContaining('it has more than 16777216 bytes.')],
    ])
    expect(most).toBeLessThan(100_000_000)
  },
)
