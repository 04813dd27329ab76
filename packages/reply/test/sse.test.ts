import { createEventReader, type ReplyError } from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSseReader } from '../src/wire/frames.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

/** The data, comments and errors for some chunks. */
function read(chunks: readonly (string | Uint8Array)[], maxFrame?: number) {
  const data: string[] = []
  const comments: string[] = []
  const errors: ReplyError[] = []
  const reader = createSseReader({
    onData: (text) => data.push(text),
    onComment: (text) => comments.push(text),
    onError: (error) => errors.push(error),
    maxFrame,
  })
  for (const chunk of chunks) reader.push(chunk)
  return { data, comments, errors, reader }
}

describe('frames', () => {
  test('come out in order, whatever the line ends', () => {
    expect(read(['data: one\n\ndata: two\r\n\r\ndata: three\r\rdata: four\n\n']).data).toEqual([
      'one',
      'two',
      'three',
      'four',
    ])
  })

  test('come out the same in any split, even within a line end or a character', () => {
    const all = bytes('data: {"a":"é漢👍🏽"}\r\n\r\n: note\ndata: two\n\n')
    for (let size = 1; size < 12; size++) {
      const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
        all.slice(at * size, (at + 1) * size),
      )
      expect(read(chunks)).toMatchObject({ data: ['{"a":"é漢👍🏽"}', 'two'], comments: ['note'], errors: [] })
    }
  })

  test('come out the same in chunks of any size, whatever alphabet they are in', () => {
    const line = fc.string({ unit: 'binary', maxLength: 700 }).map((text) => text.replace(/[\r\n\uFEFF]/g, ' '))
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), fc.integer({ min: 1, max: 20_000 }), (lines, size) => {
        const all = bytes(lines.map((text) => `data: ${text}\n\n`).join(''))
        const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
          all.slice(at * size, (at + 1) * size),
        )
        expect(read(chunks).data).toEqual(lines)
      }),
      { numRuns: 200 },
    )
  })

  test('may have several data lines', () => {
    expect(read(['data: one\ndata: two\n\n']).data).toEqual(['one\ntwo'])
  })

  test('that are not complete wait for the rest', () => {
    const { data, reader } = read(['data: on'])
    expect(data).toEqual([])
    reader.push('e\n\n')
    expect(data).toEqual(['one'])
  })

  test('that a source left unfinished are dropped at the next', () => {
    const { data, reader } = read([bytes('data: é').slice(0, -1)])
    reader.reset()
    reader.push('data: two\n\n')
    expect(data).toEqual(['two'])
  })

  test('may begin with a byte order mark, be empty, and name an event or an id', () => {
    expect(read(['\uFEFFevent: x\nid: 1\nretry: 5\ndata: one\n\n', '', '\n\n']).data).toEqual(['one'])
  })
})

describe("input that isn't an event stream", () => {
  test('is reported line by line, with its beginning', () => {
    const { errors, data } = read(['<!doctype html>\n<title>OpenCode</title>\n\ndata: one\n\n'])
    expect(data).toEqual(['one'])
    expect(errors).toMatchObject([{ type: 'malformed' }, { type: 'malformed' }])
    expect(errors[0]?.message).toContain('<!doctype html>')
  })

  test('is reported shortened and redacted', () => {
    const [error] = read([`GET https://user:hunter2@host/ ${'x'.repeat(5000)}\n\n`]).errors
    expect(error?.message.length).toBeLessThan(300)
    expect(error?.message).not.toContain('hunter2')
  })

  test('is skipped if it is random bytes', () => {
    let seed = 7
    const random = () => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return seed >> 16
    }
    const garbage = Uint8Array.from({ length: 100_000 }, random)
    const { data, errors } = read([garbage, '\n\ndata: one\n\n'])
    expect(data.at(-1)).toBe('one')
    expect(errors.length).toBeGreaterThan(10)
  })
})

describe('a frame that is too large', () => {
  const chunksOf = (text: string, size: number) =>
    Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))

  test('is dropped and reported once, and reading continues after it', () => {
    const stream = `data: one\n\ndata: ${'x'.repeat(5000)}\n\ndata: two\n\n`
    for (const size of [1, 7, 100, 999]) {
      const { data, errors } = read(chunksOf(stream, size), 1000)
      expect(data).toEqual(['one', 'two'])
      expect(errors).toMatchObject([{ type: 'too-large', message: expect.stringContaining('1000') }])
    }
  })

  test.each(['\n\n', '\r\n\r\n', '\r\r'])('ends at a blank line (%j), however that is split', (blank) => {
    const stream = `data: ${'x'.repeat(5000)}${blank}data: two${blank}data: three${blank}data: four${blank}`
    for (const size of [1, 2, 3, 500]) expect(read(chunksOf(stream, size), 1000).data).toContain('three')
  })

  test('does not end at a line of its own', () => {
    const stream = `data: ${'x'.repeat(5000)}\ndata: still\n\ndata: two\n\n`
    expect(read(chunksOf(stream, 10), 1000).data).toEqual(['two'])
  })

  test('may be many lines', () => {
    const { data, errors } = read(chunksOf(`${'data: xxxxxxxxxxxxx\n'.repeat(500)}\ndata: two\n\n`, 64), 1000)
    expect(data).toEqual(['two'])
    expect(errors).toHaveLength(1)
  })

  test('may be the second in a row', () => {
    const large = `data: ${'x'.repeat(5000)}\n\n`
    const { data, errors } = read(chunksOf(`${large}${large}data: two\n\n`, 64), 1000)
    expect(data).toEqual(['two'])
    expect(errors).toHaveLength(2)
  })

  test('of 50 MB takes no more memory than the limit, and is skipped quickly', () => {
    const piece = bytes('x'.repeat(64 * 1024))
    const { data, errors, reader } = read(['data: '])
    const before = process.memoryUsage().heapUsed
    let most = 0
    for (let sent = 0; sent < 50 * 1024 * 1024; sent += piece.length) {
      reader.push(piece)
      most = Math.max(most, process.memoryUsage().heapUsed - before)
    }
    reader.push('\n\ndata: two\n\n')
    expect(data).toEqual(['two'])
    expect(errors).toMatchObject([{ type: 'too-large' }])
    expect(most).toBeLessThan(48 * 1024 * 1024)
  })
})

describe('consecutive deltas in one chunk', () => {
  const frame = (delta: string, partID = 'p') =>
    `data: ${JSON.stringify({ type: 'message.part.delta', properties: { sessionID: 's', messageID: 'm', partID, field: 'text', delta } })}\n\n`
  const part = `data: ${JSON.stringify({ type: 'message.part.updated', properties: { part: { id: 'p', sessionID: 's', messageID: 'm', type: 'text', text: 'ab' } } })}\n\n`

  test('are one', () => {
    expect(createEventReader().push(frame('a') + frame('b'), 5)).toMatchObject([{ delta: 'ab', at: 5 }])
  })

  test('are two in two chunks', () => {
    const reader = createEventReader()
    expect([reader.push(frame('a'), 5), reader.push(frame('b'), 6)]).toMatchObject([
      [{ delta: 'a' }],
      [{ delta: 'b', at: 6 }],
    ])
  })

  test('are not one across a snapshot, or of two parts', () => {
    const across = createEventReader().push(frame('a') + part + frame('b'), 5)
    expect(across.map((event) => event.type)).toEqual(['delta', 'part', 'delta'])
    expect(createEventReader().push(frame('a') + frame('b', 'q') + frame('c'), 5)).toHaveLength(3)
  })
})
