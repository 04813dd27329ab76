import { createDecoder } from '@reply/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGrowingTexts } from '../src/source/opencode1/decode/growing-text.ts'

const part = { id: 'prt_1', sessionID: 'ses_1', messageID: 'msg_1', type: 'text' }
const time = { start: 1 }
/** Long enough to be worth more than parsing. */
const start = 'word '.repeat(100)

/** How servers write a part that grows. */
const forms: readonly ((text: string, delta: string) => string)[] = [
  (text, delta) =>
    JSON.stringify({ type: 'message.part.updated', properties: { part: { ...part, text, time }, delta } }),
  (text, delta) => {
    const payload = { type: 'message.part.updated', properties: { part: { ...part, text, time }, delta } }
    return JSON.stringify({ directory: '/project', payload })
  },
  (text, delta) =>
    JSON.stringify({ type: 'message.part.updated', properties: { delta, part: { ...part, time, text } } }),
  (text, delta) =>
    `{ "type": "message.part.updated", "properties": { "part": ${JSON.stringify({ ...part, text, time })}, "delta": ${JSON.stringify(delta)} } }`,
]

/** The frames of a text that begins with `start` and grows by these deltas. */
function framesOf(form: (text: string, delta: string) => string, deltas: readonly string[]): readonly string[] {
  let text = start
  return ['first', ...deltas].map((delta) => {
    text += delta
    return form(text, delta)
  })
}

/** What reads each frame, as `decode.ts` does, and which of them `JSON.parse` had to read. */
function readAll(frames: readonly string[]) {
  const texts = createGrowingTexts()
  return frames.map((data) => {
    const value = texts.parse(data)
    if (value !== undefined) return { value, isParsed: false }
    const parsed: unknown = JSON.parse(data)
    texts.learn(data, parsed)
    return { value: parsed, isParsed: true }
  })
}

test.each(forms.map((form, index) => [form('…', 'x'), index]))('texts written as %s are read as parsed', (_, index) => {
  const form = forms[Number(index)] ?? expect.fail()
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom('"delta":"', '"}}', '\\', '"', '\n', '","text":"', '😀', '\ud83d'),
  )
  fc.assert(
    fc.property(fc.array(piece, { minLength: 3 }), (deltas) => {
      const frames = framesOf(form, deltas)
      expect(readAll(frames).map(({ value }) => value)).toEqual(frames.map((data) => JSON.parse(data)))
    }),
    { numRuns: 40 },
  )
})

test('from the third frame of a text on, a frame is not parsed', () => {
  const frames = framesOf(forms[0] ?? expect.fail(), ['a', 'b', 'c', 'd'])
  expect(readAll(frames).map(({ isParsed }) => isParsed)).toEqual([true, true, false, false, false])
})

test('a frame is parsed that has more in it, another delta, another part, or a text that did not grow', () => {
  const form = forms[0] ?? expect.fail()
  const [first = '', second = ''] = framesOf(form, ['a'])
  const text = `${start}firsta`
  const others = [
    form(`${text}b`, 'c'),
    form(text, ''),
    form(`${start}other`, 'b'),
    form(`${text}b`, 'b').replace('prt_1', 'prt_2'),
    form(`${text}b`, 'b').replace('"time"', '"more":1,"time"'),
    form(`${text}b`, 'b').replace('"start":1', '"start":1,"end":2'),
  ]
  for (const other of others) {
    const read = readAll([first, second, other])
    expect(read.at(-1)).toEqual({ value: JSON.parse(other), isParsed: true })
  }
})

test('a field that is there twice is read as parsed', () => {
  const form = forms[0] ?? expect.fail()
  for (const twice of ['"text":"x"', '"time":{"start":2}']) {
    const frames = framesOf(form, ['a', 'b', 'c']).map((data) => data.replace('"time"', `${twice},"time"`))
    expect(readAll(frames).map(({ value }) => value)).toEqual(frames.map((data) => JSON.parse(data)))
  }
})

test('a broken end of a growing text is reported', () => {
  const [first = '', second = '', third = ''] = framesOf(forms[0] ?? expect.fail(), ['a', 'b'])
  for (const broken of ['\\', '"', '\n', '\\x']) {
    const errors: string[] = []
    const decoder = createDecoder({ onError: ({ message }) => errors.push(message) })
    const frames = [first, second, third.replaceAll('b"', `${broken}"`)]
    for (const data of frames) decoder.decode(data, 0)
    expect(errors, broken).toEqual([expect.stringContaining('not JSON')])
  }
})
