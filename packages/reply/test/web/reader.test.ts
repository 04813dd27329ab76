import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { emptyReply, type Reply } from '../../src/index.ts'
import { createFeed } from '../../src/web/feed.ts'
import { createReader } from '../../src/web/reader.ts'
import { createReaders } from '../../src/web/readers.ts'

/** Says the title of each state that it gets. */
function titles() {
  const projection = {
    ended: false,
    next: ({ title, phase }: Reply) => {
      projection.ended = phase === 'settled'
      return [title]
    },
  }
  return projection
}

test('a slow reader gets what is newest when it reads, and the end', async () => {
  const feed = createFeed()
  let ends = 0
  const stream = createReader({
    feed,
    projection: titles(),
    end: 'data: [DONE]\n\n',
    signal: new AbortController().signal,
    onBeat: () => () => {},
    onEnd: () => {
      ends += 1
    },
  })
  const reply = emptyReply('ses')
  feed.update({ ...reply, title: 'first' })
  feed.update({ ...reply, title: 'second' })
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toBe('data: "second"\n\n')
  feed.update({ ...reply, title: 'third', phase: 'settled', outcome: 'completed' })
  expect((await reader.read()).value).toBe('data: "third"\n\ndata: [DONE]\n\n')
  expect((await reader.read()).done).toBe(true)
  expect(ends).toBe(1)
})

test('what breaks a stream is told to the host, and its end is told once', async () => {
  const feed = createFeed()
  const calls: string[] = []
  const stream = createReader({
    feed,
    projection: {
      ended: false,
      next: () => {
        throw new Error('broken')
      },
    },
    signal: new AbortController().signal,
    onBeat: () => () => {},
    onEnd: () => calls.push('end'),
    onError: (error) => calls.push(String(error)),
  })
  feed.update(emptyReply('ses'))
  await expect(stream.getReader().read()).rejects.toThrow('broken')
  expect(calls).toEqual(['Error: broken', 'end'])
})

const request = (signal?: AbortSignal): Request => new Request('http://app.example/', { ...(signal && { signal }) })

test('a client has some requests at a time, and gives one back once', () => {
  const { open } = createReaders({ clock: createHandClock(), maxStreams: 2 })
  const first = open(request(), 'a')
  open(request(), 'a')
  expect(() => open(request(), 'a')).toThrow(expect.objectContaining({ status: 429 }))
  open(request(), 'b')
  first.end()
  first.end()
  open(request(), 'a')
  expect(() => open(request(), 'a')).toThrow('2 open streams')
})

test('a request is aborted by its client, or when the handler is closed, which refuses later ones', () => {
  const readers = createReaders({ clock: createHandClock(), maxStreams: 2 })
  const client = new AbortController()
  const left = readers.open(request(client.signal), 'a')
  const stays = readers.open(request(), 'a')
  client.abort()
  expect([left.signal.aborted, stays.signal.aborted]).toEqual([true, false])
  readers.close()
  expect(stays.signal.aborted).toBe(true)
  expect(() => readers.open(request(), 'b')).toThrow(expect.objectContaining({ status: 503 }))
})

test('a reader with a pause gets what is newest after it, in events of its own form', async () => {
  const feed = createFeed<number>()
  let pauses = 0
  const stream = createReader<number>({
    feed,
    projection: { ended: false, next: (count) => [count] },
    write: (chunk) => `event: count\ndata: ${String(chunk)}\n\n`,
    pause: async () => {
      pauses += 1
      feed.update(3)
    },
    signal: new AbortController().signal,
    onBeat: () => () => {},
    onEnd: () => {},
  })
  feed.update(1)
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toBe('event: count\ndata: 1\n\n')
  feed.update(2)
  expect((await reader.read()).value).toBe('event: count\ndata: 3\n\n')
  expect(pauses).toBeGreaterThan(0)
})
