import { expect, test } from 'vitest'
import { createLabels, labelOf } from '../src/format/reply-label.ts'
import { replyOf } from './fixture/reply.ts'

const named = (sessionID: string, title: string, words = '') =>
  replyOf([], { sessionID, title, prompt: { text: words, files: [], parts: [] } })

test.each([
  ['a title', 'Mend the build', 'why?', 'Mend the build'],
  ["OpenCode's placeholder", 'New session - 2026-01-31T12:00:00.000Z', 'Why does\nit fail?', 'Why does it fail?'],
  ["a sub-agent's placeholder", 'Child session - 2026-01-31T12:00:00.000Z', 'Look', 'Look'],
  [
    'a long prompt',
    '',
    'Please find out why the build fails on the second machine',
    'Please find out why the build fails on …',
  ],
  ['neither', '', '', 'ses_1'],
])('%s: the label of a reply', (_, title, words, expected) => {
  expect(labelOf(named('ses_1', title, words))).toBe(expected)
})

test('a label of two sessions gets the end of the id, two replies of one session do not', () => {
  const labelFor = createLabels()
  expect(labelFor(named('ses_abcde', 'Same'))).toBe('Same')
  expect(labelFor(named('ses_abcde', 'Same'))).toBe('Same')
  expect(labelFor(named('ses_vwxyz', 'Same'))).toBe('Same (…vwxyz)')
  expect(labelFor(named('ses_abcde', 'Same'))).toBe('Same (…abcde)')
  expect(labelFor(named('ses_vwxyz', 'Other'))).toBe('Other')
  expect(labelFor(named('ses_abcde', 'Same'))).toBe('Same')
})
