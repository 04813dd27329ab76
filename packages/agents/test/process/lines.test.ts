import type { ReplyError } from '@reply/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linesOf } from '../../src/command.ts'
import { listOf } from '../watch.ts'

async function* chunksOf(text: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test('lines are whole however the bytes arrive', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n]/g, '')),
        { maxLength: 8 },
      ),
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom('\n', '\r\n'),
      async (lines, size, ending) => {
        const text = lines.map((line) => `${line}${ending}`).join('')
        expect(await listOf(linesOf(chunksOf(text, size)))).toEqual(lines)
      },
    ),
  )
})

test('the last line needs no line break, and an empty stream has none', async () => {
  expect(await listOf(linesOf(chunksOf('a\n\nb', 1)))).toEqual(['a', '', 'b'])
  expect(await listOf(linesOf(chunksOf('', 1)))).toEqual([])
})

test('a line that is too long is left out and reported, wherever it ends', async () => {
  const errors: ReplyError[] = []
  const options = { maxBytes: 4, onError: (error: ReplyError) => errors.push(error) }
  for (const size of [1, 3, 100]) {
    errors.length = 0
    expect(await listOf(linesOf(chunksOf('1234\n12345\nab\n123456', size), options))).toEqual(['1234', 'ab'])
    const expected = { type: 'too-large', message: expect.stringContaining('it has more than 4 bytes.') }
    expect(errors).toMatchObject([expected, expected])
  }
})

test('an unending line takes no memory, and is reported while it comes', async () => {
  const errors: ReplyError[] = []
  let reported = 0
  async function* flood(): AsyncGenerator<Uint8Array> {
    const chunk = new Uint8Array(65_536).fill(0x61)
    for (let count = 0; count < 20_000; count++) {
      yield chunk
      if (count === 20) reported = errors.length
    }
  }
  const before = process.memoryUsage().rss
  expect(await listOf(linesOf(flood(), { maxBytes: 1_000_000, onError: (error) => errors.push(error) }))).toEqual([])
  expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000)
  expect([reported, errors.length]).toEqual([1, 1])
})
