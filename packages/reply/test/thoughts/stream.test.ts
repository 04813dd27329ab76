import { emptyReply, type Reply, type ReplyEvent, reduce } from '@reply/core'
import { type Thought, thoughtsOf } from '@reply/core/thoughts'
import { describe, expect, test } from 'vitest'
import { createReplyStream } from '../../src/drive/runs/reply-stream.ts'
import { standIn } from '../../src/drive/runs/stand-in.ts'
import { delta, message, reasoning, root, settle, text, tool } from '../make.ts'

/** A run that these tests feed by hand. */
function setRun() {
  const { stream, emitStep } = createReplyStream(async () => {})
  let reply: Reply = emptyReply(root)
  const feed = (...events: readonly ReplyEvent[]): void => {
    for (const event of events) {
      if (!('sessionID' in event)) continue
      const step = reduce(reply, event)
      reply = step.reply
      emitStep(step, false)
    }
  }
  return { run: stream, feed, emitStep }
}

const turn = [message('m1'), reasoning('m1', 'Hm', { status: 'sealed' }), text('m1', 'Yes'), settle('none')] as const
const said = [
  { type: 'thought', text: 'Hm' },
  { type: 'message', text: 'Yes' },
]

async function all(thoughts: AsyncIterable<Thought>): Promise<readonly Thought[]> {
  const list: Thought[] = []
  for await (const thought of thoughts) list.push(thought)
  return list
}

test('the result settles although nothing iterates', async () => {
  const { run, feed } = setRun()
  const { result } = thoughtsOf(run)
  feed(...turn)
  expect((await result).phase).toBe('settled')
})

test('an iterator gets events while the turn goes on, and ends with it', async () => {
  const { run, feed } = setRun()
  const iterator = thoughtsOf(run)[Symbol.asyncIterator]()
  const first = iterator.next()
  feed(...turn.slice(0, 2))
  expect(await first).toEqual({ done: false, value: said[0] })
  const second = iterator.next()
  feed(...turn.slice(2))
  expect(await second).toEqual({ done: false, value: said[1] })
  expect(await iterator.next()).toEqual({ done: true, value: undefined })
  expect(await iterator.next()).toEqual({ done: true, value: undefined })
})

test('two iterators each get all events, also one that begins after the end', async () => {
  const { run, feed } = setRun()
  const thoughts = thoughtsOf(run)
  const early = all(thoughts)
  feed(...turn)
  expect(await early).toEqual(said)
  expect(await all(thoughts)).toEqual(said)
})

test('break stops neither the turn nor another iterator', async () => {
  const { run, feed } = setRun()
  const thoughts = thoughtsOf(run)
  const other = all(thoughts)
  feed(...turn.slice(0, 2))
  for await (const thought of thoughts) {
    expect(thought).toEqual(said[0])
    break
  }
  feed(...turn.slice(2))
  expect(await other).toEqual(said)
  expect((await thoughts.result).phase).toBe('settled')
})

test('calls of next that overlap get the events in order', async () => {
  const { run, feed } = setRun()
  const iterator = thoughtsOf(run)[Symbol.asyncIterator]()
  const taken = [iterator.next(), iterator.next(), iterator.next()]
  feed(...turn)
  expect((await Promise.all(taken)).map(({ value }) => value)).toEqual([...said, undefined])
})

test('an iterator that is closed while it waits ends at once', async () => {
  const { run, feed } = setRun()
  const iterator = thoughtsOf(run)[Symbol.asyncIterator]()
  feed(turn[0])
  const waiting = iterator.next()
  await iterator.return?.()
  expect(await waiting).toEqual({ done: true, value: undefined })
})

test('an early failure ends the iterator, and is the outcome', async () => {
  const { run, emitStep } = setRun()
  const thoughts = thoughtsOf(run)
  const list = all(thoughts)
  emitStep(standIn('', undefined, 1, { type: 'failed', error: new Error('no server') }), false)
  expect(await list).toEqual([])
  expect(await thoughts.result).toMatchObject({ outcome: 'failed', error: { message: 'no server' } })
})

describe('include', () => {
  test('gives the named events only', async () => {
    const { run, feed } = setRun()
    const messages = all(thoughtsOf(run, { include: ['message'] }))
    feed(...turn)
    expect(await messages).toEqual([said[1]])
  })

  test('of nothing gives nothing, and ends with the turn', async () => {
    const { run, feed } = setRun()
    const none = all(thoughtsOf(run, { include: [] }))
    feed(...turn)
    expect(await none).toEqual([])
  })
})

describe('a reader that is slow', () => {
  test('gets the pieces that waited as one', async () => {
    const { run, feed } = setRun()
    const iterator = thoughtsOf(run)[Symbol.asyncIterator]()
    feed(message('m1'), text('m1', 'a'))
    expect((await iterator.next()).value).toEqual({ type: 'message', text: 'a' })
    for (let piece = 0; piece < 5000; piece++) feed(delta('m1', 'b'))
    expect((await iterator.next()).value).toEqual({ type: 'message', text: 'b'.repeat(5000) })
  })

  test('gets what differs from the newest state, with each call started and done', async () => {
    const { run, feed } = setRun()
    const iterator = thoughtsOf(run)[Symbol.asyncIterator]()
    feed(message('m1'), tool('m1', { callID: 'c0' }))
    expect((await iterator.next()).value).toMatchObject({ type: 'tool_start', id: 'm1.c0' })
    for (let call = 0; call < 3000; call++) {
      const output = String(call)
      feed(tool('m1', { callID: `c${call % 2}`, metadata: { output } }))
    }
    feed(tool('m1', { callID: 'c0', status: 'completed', output: 'end' }), settle('none'))
    const rest = await all({ [Symbol.asyncIterator]: () => iterator })
    expect(rest.length).toBeLessThan(1100)
    const done = rest.filter(({ type }) => type === 'tool_done')
    expect(done).toEqual([
      { type: 'tool_done', id: 'm1.c0', status: 'completed' },
      { type: 'tool_done', id: 'm1.c1', status: 'failed' },
    ])
  })
})

describe('the web stream', () => {
  test('gives the same events', async () => {
    const { run, feed } = setRun()
    const stream = thoughtsOf(run).toReadableStream()
    feed(...turn)
    expect(await all(stream)).toEqual(said)
  })

  test('that is canceled stops nothing', async () => {
    const { run, feed } = setRun()
    const thoughts = thoughtsOf(run)
    const reader = thoughts.toReadableStream().getReader()
    feed(...turn.slice(0, 2))
    expect((await reader.read()).value).toEqual(said[0])
    await reader.cancel()
    feed(...turn.slice(2))
    expect((await thoughts.result).phase).toBe('settled')
  })
})
