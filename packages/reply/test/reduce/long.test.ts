import { emptyReply, type Message, type Part, type Reply, reduce, type SessionScopedEvent } from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { chunkLength } from '../../src/reduce/chunks.ts'
import { longFrom, longOf } from '../../src/reduce/long.ts'
import {
  closed,
  delta,
  message,
  part,
  permission,
  root,
  running,
  settle,
  snapshot,
  stepFinish,
  stepStart,
  text,
  tool,
} from '../make.ts'

const count = longFrom + 100
const fold = (events: readonly SessionScopedEvent[], from: Reply = emptyReply(root)): Reply =>
  events.reduce((reply, event) => reduce(reply, event).reply, from)

/** Of one message: texts that were streamed, calls and ends of steps in turn. */
const parts = (length: number, from = 0): SessionScopedEvent[] =>
  Array.from({ length }, (_, index) => partEvents(from + index)).flat()

function partEvents(at: number): readonly SessionScopedEvent[] {
  const id = `m1.${at}`
  if (at % 3 === 0) return [stepFinish('m1', at, `${at}`)]
  if (at % 3 === 1) return ['running', 'completed'].map((status) => tool('m1', { callID: `${at}`, ...ended(status) }))
  return [text('m1', '', { id }), delta('m1', 'Done.', { partID: id }), text('m1', 'Done.', { id, status: 'sealed' })]
}

function ended(status: string): { readonly status: 'running' | 'completed'; readonly input: { readonly n: number } } {
  return { status: status === 'running' ? 'running' : 'completed', input: { n: 1 } }
}

const long = fold([...running, ...parts(count)])
const first = ({ messages: [one] }: Reply): Message => {
  if (!one) throw new Error('The reply has no message.')
  return one
}
/** The same with messages that are plain objects, as callers make them. */
const plain = (reply: Reply): Reply => ({ ...reply, messages: reply.messages.map((one) => ({ ...one })) })

describe('the parts of a long message', () => {
  test('are an array to its readers', () => {
    const own = first(long)
    expect(longOf(own)).toBeDefined()
    expect(Array.isArray(own.parts)).toBe(true)
    expect(own.parts).toHaveLength(count)
    expect(own.parts).toBe(own.parts)
    expect(Object.keys(own)).toEqual(Object.keys(first(fold(running))))
  })

  test('are in copies, clones and JSON', () => {
    const own = first(long)
    const { parts: all } = own
    expect({ ...own }.parts).toBe(all)
    expect(Object.getOwnPropertyDescriptor({ ...own }, 'parts')?.value).toBe(all)
    expect(structuredClone(own)).toStrictEqual({ ...own })
    expect(JSON.parse(JSON.stringify(long))).toEqual(JSON.parse(JSON.stringify(plain(long))))
    expect(long).toStrictEqual(plain(long))
    expect(new Proxy(own, {}).parts).toBe(all)
  })

  test('stay as they were when the message goes on', () => {
    const before = [...first(long).parts]
    const grown = fold([...parts(10, count), tool('m1', { callID: '1', status: 'completed', title: 'other' })], long)
    expect(first(long).parts).toEqual(before)
    expect(first(grown).parts).toHaveLength(count + 10)
    expect(first(grown).parts[1]).toMatchObject({ state: { title: 'other' } })
    expect(first(grown).parts[0]).toBe(before[0])
  })

  test('are the same array when only the message changes', () => {
    const told = fold([message('m1', { tokens: undefined, finish: 'length' })], long)
    expect(first(told)).not.toBe(first(long))
    expect(first(told).parts).toBe(first(long).parts)
  })

  test('nothing new gives the same reply back', () => {
    expect(reduce(long, text('m1', 'Done.', { id: 'm1.2', status: 'sealed' })).reply).toBe(long)
    expect(reduce(long, message('m1')).reply).toBe(long)
  })

  test('a frozen message goes on', () => {
    const reply = fold([...running, ...parts(count)])
    Object.freeze(first(reply))
    const next = fold(parts(3, count), reply)
    expect(first(next).parts.slice(0, count)).toEqual(first(reply).parts)
    expect(first(next).parts).toHaveLength(count + 3)
  })
})

test('messages of the long and of the plain kind come to the same', () => {
  const id = fc.nat(count + 20).map((at) => `m1.${at}`)
  const event: fc.Arbitrary<SessionScopedEvent> = fc.oneof(
    id.map((partID) => delta('m1', 'more', { partID })),
    id.map((one) => text('m1', 'open', { id: one })),
    id.map((partID): SessionScopedEvent => ({ type: 'part-removed', at: 1, sessionID: root, messageID: 'm1', partID })),
    fc.nat(count + 20).map((at) => tool('m1', { callID: `${at}`, status: 'completed', title: 'again' })),
    fc.nat(9).map((at) => stepStart('m1', `start${at}`)),
    fc.nat(9).map((at) => stepFinish('m1', at, `finish${at}`)),
    fc
      .nat(9)
      .map((at) => message('m1', { tokens: { input: at, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 } })),
    fc.nat(count).map((at) => permission(`p${at}`, root, { callID: `${at}`, messageID: 'm1' })),
    fc.nat(count).map((at) => closed(`p${at}`, { type: 'permission', reply: 'once' })),
    fc.nat(3).map((at) => insertion(at)),
    fc.constant(settle('rest')),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      let reply = long
      let other = plain(long)
      for (const one of events) {
        const [step, same] = [reduce(reply, one), reduce(plain(other), one)]
        expect(step.changes).toEqual(same.changes)
        reply = step.reply
        other = same.reply
      }
      expect(reply).toEqual(other)
      expect(fold([{ type: 'message-removed', at: 1, sessionID: root, messageID: 'm1' }], reply)).toEqual(
        fold([{ type: 'message-removed', at: 1, sessionID: root, messageID: 'm1' }], plain(other)),
      )
    }),
    { numRuns: 60 },
  )
})

/** A part that REST tells of, before one of the last. */
function insertion(at: number): SessionScopedEvent {
  const id = `m1.new${at}`
  const told = text('m1', 'new', { id, status: 'sealed' })
  return { ...told, order: [id, `m1.${count - 5 + at}`] }
}

describe('the work for each part does not grow with their number', () => {
  /** Each part with a status that counts how often it is read. */
  function counting(events: readonly SessionScopedEvent[]): { readonly events: SessionScopedEvent[]; reads: number } {
    const counted = { events: [] as SessionScopedEvent[], reads: 0 }
    counted.events = events.map((event) => (event.type === 'part' ? part(watched(event.part)) : event))
    function watched(told: Part): Part {
      const copy = { ...told }
      for (const key of ['id', 'status', 'type'] as const) {
        const value = told[key]
        Object.defineProperty(copy, key, {
          enumerable: true,
          get: () => {
            counted.reads += 1
            return value
          },
        })
      }
      return copy
    }
    return counted
  }

  const starts = (length: number): SessionScopedEvent[] =>
    Array.from({ length }, (_, at) => [
      ...partEvents(at),
      ...(at % 4 === 0 ? [stepStart('m1', `start${at}`)] : []),
    ]).flat()
  const asked = (length: number): SessionScopedEvent[] =>
    Array.from({ length }, (_, at) => [
      tool('m1', { callID: `${at}` }),
      permission(`p${at}`, root, { callID: `${Math.floor(at / 2)}`, messageID: 'm1' }),
      closed(`p${at}`, { type: 'permission', reply: 'once' }),
      tool('m1', { callID: `${at}`, status: 'completed' }),
    ]).flat()
  const late = (length: number): SessionScopedEvent[] => [
    ...parts(length / 2),
    settle('rest'),
    ...parts(length / 2, length / 2),
  ]
  const removed = (length: number): SessionScopedEvent[] => [
    ...parts(length),
    { type: 'message-removed', at: 1, sessionID: root, messageID: 'm1' },
  ]

  test.each([
    ['parts', parts],
    ['parts and steps that begin anew', starts],
    ['parts and permissions', asked],
    ['parts after the end', late],
    ['parts that are removed with their message', removed],
  ])('%s', (_, make) => {
    const readsPer = (length: number): number => {
      const counted = counting(make(length))
      fold([...running, ...counted.events])
      return counted.reads / length
    }
    expect(readsPer(8000)).toBeLessThan(2 * readsPer(2000))
  })

  test('an event copies one chunk of a long message, and no array of all parts', () => {
    const made = vi.spyOn(Array.prototype, 'concat')
    const events = [
      ...parts(100, count),
      message('m1', { cost: 1 }),
      permission('p', root, { callID: '1', messageID: 'm1' }),
    ]
    let reply = long
    for (const event of events) {
      const before = longOf(first(reply))?.parts.chunks ?? []
      reply = reduce(reply, event).reply
      const after = longOf(first(reply))?.parts.chunks ?? []
      expect(after.filter((chunk, at) => chunk !== before[at]).length).toBeLessThanOrEqual(1)
    }
    expect(made).not.toHaveBeenCalled()
    made.mockRestore()
    expect(longOf(first(reply))?.parts.chunks[0]).toHaveLength(chunkLength)
  })

  test('a reading over REST of a message that is known', () => {
    const { id, raw } = first(long)
    const head = { id, role: 'assistant', summary: false, raw } as const
    const reply = fold([snapshot({ messages: [{ head, parts: first(long).parts }] })], long)
    expect(first(reply).parts).toBe(first(long).parts)
  })
})

test('a copy with all that is hidden, and other parts, is taken as it is', () => {
  const own = first(long)
  const fields = { ...Object.getOwnPropertyDescriptors(own), parts: { value: own.parts.slice(0, 5), enumerable: true } }
  const copy: Message = Object.defineProperties({ ...own, parts: [] }, fields)
  const reply = fold(parts(1, count), { ...long, messages: [copy] })
  expect(first(reply).parts).toHaveLength(6)
})
