import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ReplyEvent } from '../../src/index.ts'
import { parsedFirst } from '../../src/source/decode/newest.ts'
import { createRepeatedDeltas } from '../../src/source/opencode2/decode/repeated-delta.ts'
import { createDecoder2 } from '../../src/source/opencode2/decode.ts'

const ids = { sessionID: 'ses_1', assistantMessageID: 'msg_1', ordinal: 0 }
const type = 'session.text.delta'
const location = { directory: '/project' }

/** How servers write a delta, and how others might. */
const forms: readonly ((delta: string, count: number) => string)[] = [
  (delta, count) =>
    JSON.stringify({ id: `evt_${count}`, created: 1000 + count, type, location, data: { ...ids, delta } }),
  (delta, count) => JSON.stringify({ id: `evt_${count}`, created: 1000 + count, type, data: { delta, ...ids } }),
  (delta, count) => JSON.stringify({ type, created: 1000 + count, id: `evt_${count}`, data: { ...ids, delta } }),
  (delta, count) => JSON.stringify({ id: `evt_${count}`, type, data: { ...ids, delta } }),
  (delta, count) => JSON.stringify({ id: `evt_${count}`, created: 0.5 + count, type, data: { ...ids, delta } }),
]

const first = forms[0] ?? expect.fail()

/** The first frames of a part, which are parsed. */
function firstOf(form: (delta: string, count: number) => string): readonly string[] {
  return Array.from({ length: parsedFirst }, (_, count) => form('a', 1000 + count))
}

/** What a decoder that parses each frame as a whole says. */
function parsedWhole(frames: readonly string[]): readonly ReplyEvent[] {
  const decoder = createDecoder2()
  return frames.flatMap((data, at) => decoder.decodeValue(JSON.parse(data), at) ?? [])
}

function read(frames: readonly string[]): readonly ReplyEvent[] {
  const decoder = createDecoder2()
  return frames.flatMap((data, at) => decoder.decode(data, at) ?? [])
}

/** The frames that had to be parsed. */
function parsedOf(frames: readonly string[]): readonly boolean[] {
  const deltas = createRepeatedDeltas()
  return frames.map((data, at) => {
    if (deltas.read(data, at)) return false
    const [event] = createDecoder2().decodeValue(JSON.parse(data), at) ?? []
    if (event?.type === 'delta') deltas.learn(data, event)
    return true
  })
}

test.each(forms.map((form, index) => [form('…', 1), index]))('deltas written as %s are read as parsed', (_, index) => {
  const form = forms[Number(index)] ?? expect.fail()
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('"delta":"', '"}}', '\\', '"', '\n', '","created":1', '😀', 'evt_1'),
  )
  fc.assert(
    fc.property(fc.array(text, { minLength: 3 }), (deltas) => {
      const frames = [...firstOf(form), ...deltas.map(form)]
      expect(read(frames)).toEqual(parsedWhole(frames))
    }),
    { numRuns: 100 },
  )
})

test('only the first deltas of a part are parsed, also if parts take turns', () => {
  const frames = Array.from({ length: 3 * parsedFirst + 6 }, (_, count) => {
    const data = { ...ids, assistantMessageID: `msg_${count % 3}`, delta: `${count}` }
    return JSON.stringify({ id: `evt_${1000 + count}`, created: count, type, location, data })
  })
  expect(read(frames)).toEqual(parsedWhole(frames))
  expect(parsedOf(frames)).toEqual(frames.map((_, count) => count < 3 * parsedFirst))
})

test('a thought and a text that take turns are not confused, and only the first of each are parsed', () => {
  const frames = Array.from({ length: 2 * parsedFirst + 4 }, (_, count) =>
    first(`${count}`, 1000 + count).replace(type, count % 2 === 0 ? type : 'session.reasoning.delta'),
  )
  expect(read(frames)).toEqual(parsedWhole(frames))
  expect(parsedOf(frames)).toEqual(frames.map((_, count) => count < 2 * parsedFirst))
})

test('a frame with more in it, or of another part, is parsed', () => {
  const frames = firstOf(first)
  const parsed = frames.map(() => true)
  const more = first('x', 3).replace('"ordinal":0', '"ordinal":0,"more":"y"')
  const other = first('x', 4).replace('"ordinal":0', '"ordinal":1')
  expect(parsedOf([...frames, more])).toEqual([...parsed, true])
  expect(parsedOf([...frames, other, first('x', 5)])).toEqual([...parsed, true, false])
})

test.each(['"c\\"', '"c"x', 'c"', '"\u0001"'])('the broken delta %s is reported', (broken) => {
  const errors: string[] = []
  const decoder = createDecoder2({ onError: ({ message }) => errors.push(message) })
  for (const data of [...firstOf(first), first('c', 3).replace('"c"', broken)]) decoder.decode(data, 0)
  expect(errors).toEqual([expect.stringContaining('not JSON')])
})

test.each(['', '01', '1e', '-'])('a broken time, %s, is reported', (time) => {
  const errors: string[] = []
  const decoder = createDecoder2({ onError: ({ message }) => errors.push(message) })
  for (const data of [...firstOf(first), first('c', 3).replace('1003', time)]) decoder.decode(data, 0)
  expect(errors).toEqual([expect.stringContaining('not JSON')])
})

test('a frame that comes twice counts once, with or without parsing', () => {
  const frames = [...firstOf(first), ...['a', 'b', 'c', 'd'].map(first)]
  expect(read(frames.flatMap((frame) => [frame, frame]))).toEqual(
    parsedWhole(frames).map((event, index) => ({ ...event, at: 2 * index })),
  )
})
