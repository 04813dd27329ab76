import type { Ask, Question } from '@reply/core'
import { type Answer, parsePermission, parseQuestion } from './ask.ts'
import type { Key } from './key.ts'

/** What a person has typed so far to answer one ask. */
export interface Entry {
  readonly requestID: string
  /** The answers to the questions before the current one. */
  readonly answers: readonly (readonly string[])[]
  readonly input: string
  /** What was wrong, or what the next key would do. */
  readonly note?: string | undefined
  /** Sent; the server has not confirmed it yet. */
  readonly sent: boolean
}

export function emptyEntry(ask: Ask): Entry {
  return { requestID: ask.requestID, answers: [], input: '', sent: false }
}

/** The question that this entry is at. Absent for a permission. */
export function currentQuestion(ask: Ask, entry: Entry): Question | undefined {
  return ask.type === 'question' ? ask.questions[entry.answers.length] : undefined
}

const DISMISS = 'press Escape again to refuse to answer'

/** One key: the entry after it and, when the ask is decided, the answer to send. */
export function press(ask: Ask, entry: Entry, key: Key): { readonly entry: Entry; readonly answer?: Answer } {
  if (entry.sent) return { entry }
  switch (key.type) {
    case 'text':
      return typed(entry, entry.input + key.text)
    case 'backspace':
      return typed(entry, [...entry.input].slice(0, -1).join(''))
    case 'word':
      return typed(entry, entry.input.replace(/\S+\s*$/, ''))
    case 'clear':
      return typed(entry, '')
    case 'up':
      return typed(entry, step(ask, entry, -1))
    case 'down':
      return typed(entry, step(ask, entry, 1))
    case 'escape':
      if (entry.note === DISMISS) return decided(entry, { type: 'reject' })
      return { entry: { ...entry, input: '', note: DISMISS } }
    case 'enter':
      return ask.type === 'permission' ? enterPermission(entry) : enterQuestion(ask, entry)
    case 'interrupt':
    case 'suspend':
    case 'end':
      return { entry }
  }
  key satisfies never
  return { entry }
}

/** Sending failed: the person may try again. */
export function failed(entry: Entry, note: string): Entry {
  return { ...entry, sent: false, note }
}

/** The options that the input stands for now, for the mark beside them. */
export function picked(ask: Ask, entry: Entry): readonly string[] {
  const question = currentQuestion(ask, entry)
  if (question === undefined || entry.input.trim() === '') return []
  const parsed = parseQuestion(question, entry.input)
  return 'answer' in parsed ? parsed.answer : []
}

function typed(entry: Entry, input: string): { entry: Entry } {
  return { entry: { ...entry, input, note: undefined } }
}

function decided(entry: Entry, answer: Answer): { entry: Entry; answer: Answer } {
  return { entry: { ...entry, input: '', note: undefined, sent: true }, answer }
}

function step(ask: Ask, entry: Entry, by: 1 | -1): string {
  const count = ask.type === 'permission' ? 3 : (currentQuestion(ask, entry)?.options.length ?? 0)
  if (count === 0) return entry.input
  const at = /^\d+$/.test(entry.input) ? Number(entry.input) : by === 1 ? 0 : count + 1
  return String(Math.min(count, Math.max(1, at + by)))
}

function enterPermission(entry: Entry): { entry: Entry; answer?: Answer } {
  const parsed = parsePermission(entry.input)
  return 'answer' in parsed ? decided(entry, parsed.answer) : { entry: { ...entry, note: parsed.error } }
}

function enterQuestion(ask: Ask, entry: Entry): { entry: Entry; answer?: Answer } {
  const question = currentQuestion(ask, entry)
  if (ask.type !== 'question' || question === undefined)
    return decided(entry, { type: 'answers', answers: entry.answers })
  const parsed = parseQuestion(question, entry.input)
  if ('error' in parsed) return { entry: { ...entry, note: parsed.error } }
  const answers = [...entry.answers, parsed.answer]
  if (answers.length === ask.questions.length) return decided(entry, { type: 'answers', answers })
  return { entry: { ...entry, answers, input: '', note: undefined } }
}
