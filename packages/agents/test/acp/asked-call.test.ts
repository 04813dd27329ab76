import { expect, test } from 'vitest'
import { askedCall as askedCallV1, mergedCall as mergedCallV1 } from '../../src/acp/decode/call.ts'
import { askedCall as askedCallV2, mergedCall } from '../../src/acp/decode/v2/call.ts'

const toolCallId = 'c'
const text = (words: string) => ({ type: 'content', content: { type: 'text', text: words } })
const diff = { type: 'diff', path: 'a.txt', oldText: 'a', newText: 'b' }

/** Both versions: the call after its first update, and as a permission request asks for it. */
const versions = [
  [
    '1',
    (first: object, request: object) =>
      askedCallV1(mergedCallV1(undefined, { toolCallId, ...first }), { toolCallId, ...request }),
  ],
  [
    '2',
    (first: object, request: object) =>
      askedCallV2(mergedCall(undefined, { toolCallId, ...first }), { toolCallId, ...request }),
  ],
] as const

test.each(versions)('a permission of version %s shows what the call and the request have', (_, askedOf) => {
  const first = { rawInput: { path: 'a.txt' }, content: [text('I change it.')] }
  expect(askedOf(first, { content: [text('I change it.'), diff] })).toMatchObject({
    rawInput: { path: 'a.txt' },
    content: [text('I change it.'), diff],
  })
  expect(askedOf(first, { rawInput: {}, content: [] })).toMatchObject(first)
  expect(askedOf(first, {})).toMatchObject(first)
  expect(askedOf({}, { rawInput: { command: 'ls' }, content: [diff] })).toMatchObject({
    rawInput: { command: 'ls' },
    content: [diff],
  })
})

test('a permission of version 2 updates the arguments of its call, and keeps the others', () => {
  const [, [, askedOf]] = versions
  const first = { rawInput: { path: 'a.txt', force: false } }
  expect(askedOf(first, { rawInput: { force: true } })).toMatchObject({ rawInput: { path: 'a.txt', force: true } })
  expect(askedOf(first, { rawInput: 'rm -rf .' })).toMatchObject({ rawInput: { path: 'a.txt', input: 'rm -rf .' } })
})
