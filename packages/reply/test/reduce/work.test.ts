import type { Part } from '@reply/core'
import { describe, expect, test, vi } from 'vitest'
import type { SessionScopedEvent } from '../../src/event.ts'
import { chunkLength } from '../../src/reduce/chunks.ts'
import { longPartsOf } from '../../src/reduce/long-parts.ts'
import {
  closed,
  delta,
  message,
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
import { count, first, fold, partEvents, parts, removal } from './long-message.ts'

describe('the work for each part does not grow with their number', () => {
  const long = fold([...running, ...parts(count)])

  /** Each part with fields that count how often they are read. */
  function counting(events: readonly SessionScopedEvent[]): { readonly events: SessionScopedEvent[]; reads: number } {
    const counted = { events: [] as SessionScopedEvent[], reads: 0 }
    counted.events = events.map((event) => {
      if (event.type === 'part') return { ...event, part: watched(event.part) }
      if (event.type !== 'snapshot') return event
      return { ...event, messages: event.messages.map((one) => ({ ...one, parts: one.parts.map(watched) })) }
    })
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
  const head = { id: 'm1', role: 'assistant', summary: false, raw: undefined } as const
  /** The wire tells of the newest part first, as to who joins in the middle of a run. */
  const joined = (length: number): SessionScopedEvent[] => {
    const newest = text('m1', 'newest', { id: 'm1.newest' })
    const told = [...first(fold([...running, ...parts(length)])).parts, newest.part]
    return [newest, snapshot({ messages: [{ head, parts: told }] })]
  }
  const lateSteps = (length: number): SessionScopedEvent[] => [
    message('m2'),
    ...Array.from({ length: length / 2 }, (_, at) => stepFinish('m2', at, `${at}`)),
    ...Array.from({ length: length / 2 }, (_, at) => stepFinish('m1', at, `${at}`)),
  ]
  const stepsAgain = (length: number): SessionScopedEvent[] => [
    ...parts(length),
    ...Array.from({ length: length / 3 }, (_, at) => stepFinish('m1', 3 * at + 1, `${3 * at}`)),
  ]
  /** One of the last parts and one of the first go, the first one comes back at the end. */
  const replaced = (length: number): SessionScopedEvent[] => [
    ...parts(length),
    ...Array.from({ length: length / 4 }, (_, at) => [
      ...(at === 0 ? [] : [removal(`m1.new${at - 1}`)]),
      text('m1', 'new', { id: `m1.new${at}`, status: 'sealed' }),
      removal(`m1.${3 * at + 2}`),
      delta('m1', 'late', { partID: `m1.${3 * at + 2}` }),
      text('m1', 'again', { id: `m1.${3 * at + 2}`, status: 'sealed' }),
    ]).flat(),
  ]

  test.each([
    ['parts that are told of before the newest one', joined],
    ['late steps of a message that is not the last', lateSteps],
    ['steps that are told of again with other numbers', stepsAgain],
    ['parts that are removed while others are added', replaced],
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
    expect(readsPer(4800)).toBeLessThan(2 * readsPer(1200))
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
      const before = longPartsOf(first(reply))?.parts.chunks ?? []
      reply = fold([event], reply)
      const after = longPartsOf(first(reply))?.parts.chunks ?? []
      expect(after.filter((chunk, at) => chunk !== before[at]).length).toBeLessThanOrEqual(1)
    }
    expect(made).not.toHaveBeenCalled()
    made.mockRestore()
    expect(longPartsOf(first(reply))?.parts.chunks[0]).toHaveLength(chunkLength)
  })

  test('a part that is removed or inserted near the end copies one chunk', () => {
    const before = longPartsOf(first(long))?.parts.chunks ?? []
    const inserted = { ...text('m1', 'new', { id: 'm1.new' }), order: ['m1.new', `m1.${count - 1}`] }
    for (const event of [removal(`m1.${count - 2}`), inserted]) {
      const after = longPartsOf(first(fold([event], long)))?.parts.chunks ?? []
      expect(after.filter((chunk, at) => chunk !== before[at])).toHaveLength(1)
    }
  })

  test('a reading over REST of a message that is known', () => {
    const { id, raw } = first(long)
    const head = { id, role: 'assistant', summary: false, raw } as const
    const reply = fold([snapshot({ messages: [{ head, parts: first(long).parts }] })], long)
    expect(first(reply).parts).toBe(first(long).parts)
  })
})
