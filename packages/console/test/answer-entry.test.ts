import type { Ask } from '@reply/core'
import { expect, test } from 'vitest'
import { emptyEntry, pickedOptions, press, withSendFailure } from '../src/asks/answer-entry.ts'
import { keysOf } from '../src/terminal/key.ts'
import { permission, question } from './fixture/reply.ts'

/** Types all keys. Returns the entry, and the answer if there was one. */
function type(ask: Ask, input: string, from = emptyEntry(ask)) {
  let entry = from
  let answer: unknown
  for (const key of keysOf(input)) {
    const pressed = press(entry, key, { ask, allowUnseen: false })
    entry = pressed.entry
    answer = pressed.answer ?? answer
  }
  return { entry, answer }
}

const { questions } = question()
const two = question({ questions: [...questions, ...questions.map((one) => ({ ...one, multiple: true }))] })

test('keys are text, controls and arrows; other sequences are ignored', () => {
  expect(keysOf('aé日\r\u007f\u001b[A\u001b[200~\u001b')).toEqual([
    { type: 'text', text: 'aé日' },
    { type: 'enter' },
    { type: 'backspace' },
    { type: 'up' },
    { type: 'escape' },
  ])
})

test('a number and Enter answer a question', () => {
  expect(type(question(), '2\r').answer).toEqual({ type: 'answers', answers: [['SQLite']] })
})

test('several questions are answered one after another', () => {
  const half = type(two, '1\r')
  expect(half.answer).toBeUndefined()
  expect(half.entry.answers).toEqual([['Postgres']])
  expect(type(two, '1,3\r', half.entry).answer).toEqual({
    type: 'answers',
    answers: [['Postgres'], ['Postgres', 'Redis']],
  })
})

test('a wrong answer says what to type, and the next key removes the note', () => {
  const wrong = type(question(), '1,2\r')
  expect(wrong.answer).toBeUndefined()
  expect(wrong.entry.note).toContain('pick one')
  expect(type(question(), '\u0015', wrong.entry).entry).toMatchObject({ input: '', note: undefined })
})

test('arrows walk through the options', () => {
  expect(type(question(), '\u001b[B\u001b[B').entry.input).toBe('2')
  expect(type(question(), '\u001b[A').entry.input).toBe('3')
  expect(pickedOptions(question(), type(question(), '\u001b[B').entry)).toEqual(['Postgres'])
})

test('arrows walk through the options of a permission', () => {
  expect(type(permission({ always: [] }), '\u001b[B\u001b[B').entry.input).toBe('3')
  expect(type(permission({ call: undefined }), '\u001b[B').entry.input).toBe('3')
})

test('editing: backspace takes a whole character, control-W a word, control-U all', () => {
  expect(type(question(), 'ab👍\u007f').entry.input).toBe('ab')
  expect(type(question(), 'one two\u0017').entry.input).toBe('one ')
  expect(type(question(), 'one two\u0015').entry.input).toBe('')
})

test('Escape twice rejects, once does not', () => {
  expect(type(question(), '\u001b').answer).toBeUndefined()
  expect(type(question(), '\u001bx\u001b').answer).toBeUndefined()
  expect(type(question(), '\u001b\u001b').answer).toEqual({ type: 'reject' })
})

test('a sent answer cannot be changed until sending failed', () => {
  const sent = type(permission(), '1\r')
  expect(sent.answer).toEqual({ type: 'permission', reply: 'once' })
  expect(type(permission(), '3\r', sent.entry).answer).toBeUndefined()
  expect(type(permission(), '3\r', withSendFailure(sent.entry, 'not sent')).answer).toEqual({ type: 'reject' })
})
