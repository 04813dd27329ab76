import { expect, test } from 'vitest'
import { sentenceOf } from '../src/text/sentence.ts'

test.each([
  // As OpenCode 1.18.33 sends an unknown model, and OpenCode 2 a provider's refusal: see the recordings.
  [
    'ProviderModelNotFoundError: Model not found: fake/nope.\n    at <anonymous> (/$bunfs/root/chunk-988h3m76.js:439:91964)\n    at x',
    'ProviderModelNotFoundError: Model not found: fake/nope.',
  ],
  ['Error: no\n    at src/main.ts:4:12', 'Error: no'],
  [
    'Provider request failed with HTTP 429: {"error":{"message":"Slow down.","type":"scripted"}}',
    'Provider request failed with HTTP 429: Slow down.',
  ],
  // Codex and Gemini CLI.
  ['{"error":{"message":"The key is wrong."}}', 'The key is wrong.'],
  ['[API Error: {"error":{"message":"Wrong key","code":401}}]', '[API Error: Wrong key]'],
  ['400 {"error":{"message":"{\\"error\\":{\\"message\\":\\"Too long.\\"}}"}}', '400 Too long.'],
  ['Too long: {"message":"Too long"}', 'Too long'],
])('of %j only the sentence stays', (words, sentence) => {
  expect(sentenceOf(words)).toBe(sentence)
})

test.each([
  '',
  'The provider failed.',
  'Two lines\nof words',
  'Expected {a} but got {b}',
  'The value {"a":1} is wrong',
  'Invalid input\n  at ["command"]',
])('%j stays as it is', (words) => {
  expect(sentenceOf(words)).toBe(words)
})

test('deeply nested JSON ends', () => {
  let words = 'deep'
  for (let at = 0; at < 12; at++) words = JSON.stringify({ error: words })
  expect(sentenceOf(words).length).toBeLessThanOrEqual(words.length)
})
