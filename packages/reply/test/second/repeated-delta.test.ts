import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ReplyEvent } from '../../src/index.ts'
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
  return frames.map((data, at) => !deltas.read(data, at))
}

test.each(forms.map((form, index) => [form('…', 1), index]))('deltas written as %s are read as parsed', (_, index) => {
  const form = forms[Number(index)] ?? expect.fail()
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('"delta":"', '"}}', '\\', '"', '\n', '","created":1', '😀', 'evt_1'),
  )
  fc.assert(
    fc.property(fc.array(text, { minLength: 3 }), (deltas) => {
      const frames = deltas.map(form)
      expect(read(frames)).toEqual(parsedWhole(frames))
    }),
    { numRuns: 100 },
  )
})

test('no delta is parsed, also if parts take turns', () => {
  const frames = Array.from({ length: 9 }, (_, count) => {
    const data = { ...ids, assistantMessageID: `msg_${count % 3}`, ordinal: count % 2, delta: `${count}` }
    return JSON.stringify({ id: `evt_${1000 + count}`, created: count, type, location, data })
  })
  expect(read(frames)).toEqual(parsedWhole(frames))
  expect(parsedOf(frames)).toEqual(frames.map(() => false))
})

test('a thought and a text that take turns are not confused', () => {
  const frames = Array.from({ length: 6 }, (_, count) =>
    first(`${count}`, 1000 + count).replace(type, count % 2 === 0 ? type : 'session.reasoning.delta'),
  )
  expect(read(frames)).toEqual(parsedWhole(frames))
  expect(parsedOf(frames)).toEqual(frames.map(() => false))
})

test('a frame without a directory is not parsed', () => {
  const frames = ['a', 'b'].map((delta) =>
    JSON.stringify({ id: `evt_${delta}`, created: 1, type, data: { ...ids, delta } }),
  )
  expect(read(frames)).toEqual(parsedWhole(frames))
  expect(parsedOf(frames)).toEqual([false, false])
})

test.each([
  ['"ordinal":0', '"ordinal":0,"more":"y"'],
  ['"ordinal":0', '"ordinal":0.5'],
  ['"directory":"/project"', '"directory":"/\\u0041"'],
  ['"directory":"/project"', '"directory":"/project","more":1'],
  ['"sessionID":"ses_1"', '"sessionID":"ses 1"'],
  ['"created":1003', '"created":1003,"more":{}'],
  ['"delta":"x"}', '"delta":"x"},"more":{"of":"it"}'],
])('a frame with %s written as %s is parsed', (usual, other) => {
  const frames = [first('x', 3).replace(usual, other)]
  expect(frames).not.toEqual([first('x', 3)])
  expect(read(frames)).toEqual(parsedWhole(frames))
  expect(parsedOf([first('x', 2), ...frames])).toEqual([false, true])
})

test.each(['"c\\"', '"c"x', 'c"', '"\u0001"'])('the broken delta %s is reported', (broken) => {
  const errors: string[] = []
  const decoder = createDecoder2({ onError: ({ message }) => errors.push(message) })
  for (const data of [first('b', 2), first('c', 3).replace('"c"', broken)]) decoder.decode(data, 0)
  expect(errors).toEqual([expect.stringContaining('not JSON')])
})

test.each(['', '01', '1e', '-'])('a broken time, %s, is reported', (time) => {
  const errors: string[] = []
  const decoder = createDecoder2({ onError: ({ message }) => errors.push(message) })
  for (const data of [first('b', 2), first('c', 3).replace('1003', time)]) decoder.decode(data, 0)
  expect(errors).toEqual([expect.stringContaining('not JSON')])
})

test('a frame that comes twice counts once, with or without parsing', () => {
  const frames = ['a', 'b', 'c', 'd'].map(first)
  expect(read(frames.flatMap((frame) => [frame, frame]))).toEqual(
    parsedWhole(frames).map((event, index) => ({ ...event, at: 2 * index })),
  )
})
