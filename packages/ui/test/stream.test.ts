import type { ReplyStream } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { DefaultChatTransport, type UIMessageChunk } from 'ai'
import { describe, expect, test } from 'vitest'
import { uiTextOf } from '../src/client.ts'
import { toUIMessageResponse, toUIMessageStream, type UIChunk } from '../src/index.ts'
import { createStage } from './handler-stage.ts'
import { messageOf } from './recorded.ts'

async function allOf<T>(stream: ReadableStream<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const one of stream) all.push(one)
  return all
}

/** A reply that writes and ends when the test says so. */
async function begin(): Promise<{ stream: ReplyStream; write: (delta: string) => Promise<void>; end: () => void }> {
  const { client, run } = createStage()
  const stream = client.prompt({ text: 'endless' })
  const seen = async (text: string): Promise<void> => {
    for await (const _ of stream) if (JSON.stringify(stream.reply?.messages ?? '').includes(text)) return
  }
  await seen('On and on.')
  return {
    stream,
    write: async (delta) => {
      run().write({ type: 'text', delta, partID: 'endless' })
      await seen(delta)
    },
    end: () => run().end({ type: 'completed' }),
  }
}

describe('a stream', () => {
  test('has the reply as it goes on, for readers that come at any time', async () => {
    const { stream, write, end } = await begin()
    const early = allOf(toUIMessageStream(stream))
    await write(' And on.')
    const late = allOf(toUIMessageStream(stream))
    end()
    await stream.result
    for (const chunks of [await early, await late, await allOf(toUIMessageStream(stream))])
      expect(uiTextOf(await messageOf(chunks))).toBe('On and on. And on.')
  })

  test('gives a slow reader what it lacks of the newest state', async () => {
    const { stream, write, end } = await begin()
    const reader = toUIMessageStream(stream).getReader()
    const chunks: UIChunk[] = []
    while (chunks.at(-1)?.type !== 'text-delta') {
      const { value } = await reader.read()
      if (value) chunks.push(value)
    }
    // The stream reads ahead by one state.
    for (const delta of [' 1', ' 2', ' 3', ' 4']) await write(delta)
    end()
    await stream.result
    for (let read = await reader.read(); !read.done; read = await reader.read()) chunks.push(read.value)
    expect(chunks.filter(({ type }) => type === 'text-delta').length).toBeLessThan(5)
    expect(uiTextOf(await messageOf(chunks))).toBe('On and on. 1 2 3 4')
  })

  test('computes nothing before it is read', async () => {
    const { stream, write } = await begin()
    let reads = 0
    const watched: ReplyStream = Object.create(stream, {
      reply: {
        get: () => {
          reads += 1
          return stream.reply
        },
      },
      [Symbol.asyncIterator]: { value: () => stream[Symbol.asyncIterator]() },
    })
    const reader = toUIMessageStream(watched).getReader()
    await write(' And on.')
    expect(reads).toBe(0)
    await reader.read()
    expect(reads).toBeGreaterThan(0)
    await reader.cancel()
  })

  test('that is left by all of its readers follows the reply no more, and the reply goes on', async () => {
    const { stream, end } = await begin()
    let open = 0
    const watched: ReplyStream = Object.create(stream, {
      reply: { get: () => stream.reply },
      [Symbol.asyncIterator]: {
        value: () => {
          open += 1
          const iterator = stream[Symbol.asyncIterator]()
          return {
            next: () => iterator.next(),
            return: async () => {
              open -= 1
              return await iterator.return?.()
            },
          }
        },
      },
    })
    const readers = Array.from({ length: 100 }, () => toUIMessageStream(watched).getReader())
    for (const reader of readers) await reader.read()
    expect(open).toBe(1)
    for (const reader of readers) await reader.cancel()
    expect(open).toBe(0)
    const again = toUIMessageStream(watched).getReader()
    await again.read()
    expect(open).toBe(1)
    await again.cancel()
    end()
    expect((await stream.result).outcome).toBe('completed')
  })

  test('ends if the program leaves the reply', async () => {
    const { stream } = await begin()
    const chunks = allOf(toUIMessageStream(stream))
    stream.leave()
    expect((await chunks).at(-1)?.type).toBe('text-delta')
  })
})

describe('a response', () => {
  test('is what DefaultChatTransport reads', async () => {
    const { stream, end } = await begin()
    end()
    const response = toUIMessageResponse(stream, { headers: { 'x-own': 'yes' } })
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-own')).toBe('yes')
    // HTTP/2 forbids it.
    expect(response.headers.get('connection')).toBeNull()
    const raw = await response.clone().text()
    expect(raw).toMatch(/^data: \{"type":"start".*\n\n/)
    expect(raw).toMatch(/\n\ndata: \[DONE\]\n\n$/)
    const transport = new DefaultChatTransport({ fetch: async () => response })
    const request = { chatId: 'c', messages: [], abortSignal: undefined, messageId: undefined }
    const chunks: readonly UIMessageChunk[] = await allOf(
      await transport.sendMessages({ ...request, trigger: 'submit-message' }),
    )
    expect(chunks).toEqual(await allOf(toUIMessageStream(stream)))
  })

  test('that breaks leaves no timer and follows the reply no more', async () => {
    const { stream } = await begin()
    let returned = 0
    const broken: ReplyStream = Object.create(stream, {
      reply: {
        get: () => {
          throw new Error('It broke.')
        },
      },
      [Symbol.asyncIterator]: {
        value: () => ({
          next: () => new Promise(() => {}),
          return: async () => {
            returned += 1
          },
        }),
      },
    })
    const clock = createHandClock()
    await expect(toUIMessageResponse(broken, { clock }).text()).rejects.toThrow('It broke.')
    expect([clock.pending, returned]).toEqual([0, 1])
  })

  test('is kept alive while nothing happens, and leaves no timer', async () => {
    const { stream, end } = await begin()
    const clock = createHandClock()
    const response = toUIMessageResponse(stream, { clock, beatMs: 1000 })
    const text = response.text()
    await expect.poll(() => clock.pending).toBe(1)
    await clock.advance(3500, async () => await new Promise((resolve) => setImmediate(resolve)))
    end()
    expect((await text).match(/^: still here$/gm)).toHaveLength(3)
    expect(clock.pending).toBe(0)
    const left = toUIMessageResponse(stream, { clock })
    await left.body?.cancel()
    expect(clock.pending).toBe(0)
  })
})
