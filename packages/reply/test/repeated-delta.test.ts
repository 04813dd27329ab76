import { createDecoder, type ReplyEvent } from '@reply/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsedFirst } from '../src/source/decode/newest.ts'
import { createRepeatedDeltas } from '../src/source/opencode1/decode/repeated-delta.ts'

const ids = { sessionID: 'ses_1', messageID: 'msg_1', partID: 'prt_1', field: 'text' }

/** How servers write a delta. */
const forms: readonly ((delta: string, count: number) => string)[] = [
  (delta) => JSON.stringify({ type: 'message.part.delta', properties: { ...ids, delta } }),
  (delta, count) => JSON.stringify({ id: `evt_${count}`, type: 'message.part.delta', properties: { ...ids, delta } }),
  (delta, count) => {
    const payload = { id: `evt_${count}`, type: 'message.part.delta', properties: { ...ids, delta } }
    return JSON.stringify({ directory: '/project', payload })
  },
  (delta, count) => JSON.stringify({ type: 'message.part.delta', properties: { ...ids, delta }, id: `evt_${count}` }),
  (delta) => JSON.stringify({ type: 'message.part.delta', properties: { delta, ...ids } }),
  (delta) => `{ "type": "message.part.delta", "properties": ${JSON.stringify({ ...ids, delta })} }`,
]

/** The first frames of a part, which are parsed. */
function firstOf(form: (delta: string, count: number) => string): readonly string[] {
  return Array.from({ length: parsedFirst }, (_, count) => form('a', 1000 + count))
}

/** What a decoder that parses each frame as a whole says. */
function parsedWhole(frames: readonly string[]): readonly (ReplyEvent | undefined)[] {
  const decoder = createDecoder()
  return frames.map((data, at) => decoder.decodeValue(JSON.parse(data), at))
}

function read(frames: readonly string[]): readonly (ReplyEvent | undefined)[] {
  const decoder = createDecoder()
  return frames.map((data, at) => decoder.decode(data, at))
}

test.each(forms.map((form, index) => [form('…', 1), index]))('deltas written as %s are read as parsed', (_, index) => {
  const form = forms[Number(index)] ?? expect.fail()
  const text = fc.oneof(fc.string(), fc.constantFrom('"delta":"', '"}}', '\\', '"', '\n', '","x":"', '😀', 'evt_1'))
  fc.assert(
    fc.property(fc.array(text, { minLength: 3 }), (deltas) => {
      const frames = [...firstOf(form), ...deltas.map(form)]
      expect(read(frames)).toEqual(parsedWhole(frames))
    }),
    { numRuns: 200 },
  )
})

test('the first deltas of a part are parsed, the others not', () => {
  const form = forms[1] ?? expect.fail()
  const deltas = createRepeatedDeltas()
  const known = [...firstOf(form), form('b', 1), form('c', 2)].map((data, at) => {
    const delta = deltas.read(data, at)
    const event = createDecoder().decode(data, at)
    if (!delta && event?.type === 'delta') deltas.learn(data, event)
    return delta?.raw.id
  })
  expect(known).toEqual([...firstOf(form).map(() => undefined), 'evt_1', 'evt_2'])
})

test('a duplicate of a delta is dropped', () => {
  const form = forms[1] ?? expect.fail()
  const frames = [...firstOf(form), ...[3, 3, 4].map((count) => form(`${count}`, count))]
  const types = read(frames).map((event) => event?.type)
  expect(types.slice(parsedFirst)).toEqual(['delta', undefined, 'delta'])
})

test('a frame with more in it, or of another part, is parsed', () => {
  const first = forms[0] ?? expect.fail()
  const more = JSON.stringify({ type: 'message.part.delta', properties: { ...ids, delta: 'x', more: 'y' } })
  const other = JSON.stringify({ type: 'message.part.delta', properties: { ...ids, partID: 'prt_2', delta: 'x' } })
  const frames = [...firstOf(first), more, other, first('c', 3)]
  expect(read(frames)).toEqual(parsedWhole(frames))
})

test('a broken delta is reported', () => {
  const errors: string[] = []
  const decoder = createDecoder({ onError: ({ message }) => errors.push(message) })
  const first = forms[0] ?? expect.fail()
  const broken = first('c', 3).replace('"c"', '"c\\"')
  for (const data of [...firstOf(first), broken]) decoder.decode(data, 0)
  expect(errors).toEqual([expect.stringContaining('not JSON')])
})

test('deltas of parts that take turns are read as parsed, and only the first of each are parsed', () => {
  const frames = Array.from({ length: 3 * parsedFirst + 6 }, (_, count) => {
    const properties = { ...ids, partID: `prt_${count % 3}`, delta: `${count}` }
    return JSON.stringify({ id: `evt_${1000 + count}`, type: 'message.part.delta', properties })
  })
  expect(read(frames)).toEqual(parsedWhole(frames))
  const deltas = createRepeatedDeltas()
  const isParsed = frames.map((data) => {
    if (deltas.read(data, 0)) return false
    const event = createDecoder().decode(data, 0)
    if (event?.type === 'delta') deltas.learn(data, event)
    return true
  })
  expect(isParsed).toEqual(frames.map((_, count) => count < 3 * parsedFirst))
})
