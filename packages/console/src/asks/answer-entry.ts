import {
  type Ask,
  alwaysOffer,
  type PermissionAsk,
  type Question,
  readPermissionAnswer,
  readQuestionAnswer,
} from '@reply/core'
import type { Key } from '../terminal/key.ts'
import { type Answer, offerOf, wrongAnswer, wrongPermission } from './ask.ts'

/** A person's unfinished answer to one ask. */
export interface Entry {
  readonly requestID: string
  /** The answers to the questions before the current one. */
  readonly answers: readonly (readonly string[])[]
  readonly input: string
  /** An error, or what the next key would do. */
  readonly note?: string | undefined
  /** The answer was sent, but the server has not confirmed it yet. */
  readonly sent: boolean
}

export function emptyEntry(ask: Ask): Entry {
  return { requestID: ask.requestID, answers: [], input: '', sent: false }
}

/** The entry's current question. Undefined for a permission. */
export function currentQuestion(ask: Ask, entry: Entry): Question | undefined {
  return ask.type === 'question' ? ask.questions[entry.answers.length] : undefined
}

const DISMISS = 'press Escape again to reject'

export interface Asked {
  readonly ask: Ask
  /** Whether a permission can be allowed while its input is unknown. */
  readonly allowUnseen: boolean
}

interface Pressed {
  readonly entry: Entry
  readonly answer?: Answer
}

/** Handles one key. Returns the new entry and, when the ask is decided, the answer to send. */
export function press(entry: Entry, key: Key, asked: Asked): Pressed {
  const { ask, allowUnseen } = asked
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
      return typed(entry, step(entry, -1, asked))
    case 'down':
      return typed(entry, step(entry, 1, asked))
    case 'escape':
      if (entry.note === DISMISS) return decided(entry, { type: 'reject' })
      return { entry: { ...entry, input: '', note: DISMISS } }
    case 'enter':
      return ask.type === 'permission' ? enterPermission(entry, ask, { allowUnseen }) : enterQuestion(entry, ask)
    case 'interrupt':
    case 'suspend':
    case 'end':
      return { entry }
  }
  key satisfies never
  return { entry }
}

/** Sending failed, so the person may try again. */
export function failed(entry: Entry, note: string): Entry {
  return { ...entry, sent: false, note }
}

/** The question changed: drops what was typed for the old one, unless it is a rejection. */
export function renewed(ask: Ask, entry: Entry, note: string): Entry {
  const isRefusal =
    ask.type === 'permission' && readPermissionAnswer(entry.input, { canAlways: true }).type === 'reject'
  return { ...emptyEntry(ask), input: isRefusal ? entry.input : '', note }
}

/** The options that the input selects now, for their marks. */
export function picked(ask: Ask, entry: Entry): readonly string[] {
  const question = currentQuestion(ask, entry)
  if (question === undefined || entry.input.trim() === '') return []
  const read = readQuestionAnswer(entry.input, question)
  return read.type === 'answer' ? read.answers : []
}

function typed(entry: Entry, input: string): { entry: Entry } {
  return { entry: { ...entry, input, note: undefined } }
}

function decided(entry: Entry, answer: Answer): { entry: Entry; answer: Answer } {
  return { entry: { ...entry, input: '', note: undefined, sent: true }, answer }
}

function step(entry: Entry, by: 1 | -1, { ask, allowUnseen }: Asked): string {
  const count = currentQuestion(ask, entry)?.options.length ?? 0
  const numbers: readonly number[] =
    ask.type === 'permission' ? offerOf(ask, { allowUnseen }).numbers : Array.from({ length: count }, (_, at) => at + 1)
  const typed = /^\d+$/.test(entry.input) ? Number(entry.input) : by === 1 ? 0 : Number.POSITIVE_INFINITY
  const next = by === 1 ? numbers.find((one) => one > typed) : numbers.findLast((one) => one < typed)
  return next === undefined ? entry.input : String(next)
}

function enterPermission(entry: Entry, ask: PermissionAsk, options: { readonly allowUnseen: boolean }): Pressed {
  const read = readPermissionAnswer(entry.input, { canAlways: alwaysOffer(ask).type === 'offered' })
  const note = wrongPermission(read, offerOf(ask, options), ask)
  if (note !== undefined || read.type === 'error') return { entry: { ...entry, note } }
  return decided(entry, read.type === 'reject' ? read : { type: 'permission', reply: read.answer })
}

function enterQuestion(entry: Entry, ask: Ask): Pressed {
  const question = currentQuestion(ask, entry)
  if (ask.type !== 'question' || question === undefined)
    return decided(entry, { type: 'answers', answers: entry.answers })
  const read = readQuestionAnswer(entry.input, question)
  if (read.type === 'error') return { entry: { ...entry, note: wrongAnswer(question, read) } }
  const answers = [...entry.answers, read.answers]
  if (answers.length === ask.questions.length) return decided(entry, { type: 'answers', answers })
  return { entry: { ...entry, answers, input: '', note: undefined } }
}
