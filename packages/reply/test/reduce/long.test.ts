import { type Message, type Reply, reduce } from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SessionScopedEvent } from '../../src/event.ts'
import { chunkLength } from '../../src/reduce/chunks.ts'
import { longFrom, longPartsOf } from '../../src/reduce/long-parts.ts'
import {
  closed,
  delta,
  message,
  permission,
  root,
  running,
  settle,
  stepFinish,
  stepStart,
  text,
  tool,
} from '../make.ts'
import { count, first, fold, parts, removal } from './long-message.ts'

const long = fold([...running, ...parts(count)])
/** The same with messages that are plain objects, as callers make them. */
const plain = (reply: Reply): Reply => ({ ...reply, messages: reply.messages.map((one) => ({ ...one })) })

describe('the parts of a long message', () => {
  test('are an array to its readers', () => {
    const own = first(long)
    expect(longPartsOf(own)).toBeDefined()
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

  test('are kept as those of a long message from a part on that comes before others', () => {
    const told = fold(parts(longFrom), fold([...running, text('m1', 'newest')]))
    const inserted = {
      ...text('m1', 'new', { id: 'm1.new', status: 'sealed' }),
      order: ['m1.new', `m1.${longFrom - 1}`],
    }
    const next = fold([inserted], plain(told))
    expect(longPartsOf(first(next))).toBeDefined()
    expect(first(next).parts.map(({ id }) => id)).toEqual(
      first(told)
        .parts.map(({ id }) => id)
        .toSpliced(-1, 0, 'm1.new'),
    )
  })

  test('stay as they were when one of them is removed from what the message is next', () => {
    const before = [...first(long).parts]
    const next = fold([removal('m1.5'), removal('m1.4')], long)
    expect(longPartsOf(first(next))).toBeDefined()
    expect(first(next).parts).toEqual(before.toSpliced(4, 2))
    expect(reduce(long, text('m1', 'Done.', { id: 'm1.5', status: 'sealed' })).reply).toBe(long)
    expect(first(fold([delta('m1', 'late', { partID: 'm1.5' })], next))).toBe(first(next))
    expect(first(fold([text('m1', 'again', { id: 'm1.5' })], next)).parts.at(-1)).toMatchObject({ text: 'again' })
  })

  test('are found after many of them were removed', () => {
    const ids = first(long).parts.map(({ id }) => id)
    const next = fold(ids.slice(0, 2 * chunkLength).map(removal), long)
    const left = ids.slice(2 * chunkLength)
    expect(first(next).parts.map(({ id }) => id)).toEqual(left)
    expect(first(fold(left.map(removal), next)).parts).toEqual([])
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
    id.map((partID) => removal(partID)),
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

test('a copy with all that is hidden, and other parts, is taken as it is', () => {
  const own = first(long)
  const fields = { ...Object.getOwnPropertyDescriptors(own), parts: { value: own.parts.slice(0, 5), enumerable: true } }
  const copy: Message = Object.defineProperties({ ...own, parts: [] }, fields)
  const reply = fold(parts(1, count), { ...long, messages: [copy] })
  expect(first(reply).parts).toHaveLength(6)
})
