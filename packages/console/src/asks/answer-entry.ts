import {
  type Ask,
  alwaysOffer,
  type PermissionAsk,
  type Question,
  readPermissionAnswer,
  readQuestionAnswer,
} from '@reply/core'
import type { Key } from '../terminal/key.ts'
import { type Answer, answerError, offerOf, permissionError } from './ask.ts'

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

/** Returns the entry for an ask that a person has not begun to answer. */
export function emptyEntry(ask: Ask): Entry {
  return { requestID: ask.requestID, answers: [], input: '', sent: false }
}

/** Returns the entry's current question. Undefined for a permission, and after the last question. */
export function currentQuestion(ask: Ask, entry: Entry): Question | undefined {
  return ask.type === 'question' ? ask.questions[entry.answers.length] : undefined
}

const DISMISS = 'press Escape again to reject'

export interface AskToAnswer {
  readonly ask: Ask
  /** Whether a permission can be allowed while its input is unknown. */
  readonly allowUnseen: boolean
}

interface Pressed {
  readonly entry: Entry
  readonly answer?: Answer
}

/**
 * Handles one key. Returns the new entry and, when the ask is decided, the answer to send. Enter submits the input, or leaves
 * a note if that isn't an answer. A second Escape rejects. Returns the same entry for keys that end or suspend the program,
 * and once the answer was sent.
 */
export function press(entry: Entry, key: Key, asked: AskToAnswer): Pressed {
  const { ask, allowUnseen } = asked
  if (entry.sent) return { entry }
  switch (key.type) {
    case 'text':
      return withInput(entry, entry.input + key.text)
    case 'backspace':
      return withInput(entry, [...entry.input].slice(0, -1).join(''))
    case 'word':
      return withInput(entry, entry.input.replace(/\S+\s*$/, ''))
    case 'clear':
      return withInput(entry, '')
    case 'up':
      return withInput(entry, inputAfterArrow(entry, -1, asked))
    case 'down':
      return withInput(entry, inputAfterArrow(entry, 1, asked))
    case 'escape':
      if (entry.note === DISMISS) return withSentAnswer(entry, { type: 'reject' })
      return { entry: { ...entry, input: '', note: DISMISS } }
    case 'enter':
      return ask.type === 'permission' ? submitPermission(entry, ask, { allowUnseen }) : submitQuestion(entry, ask)
    case 'interrupt':
    case 'suspend':
    case 'end':
      return { entry }
  }
  key satisfies never
  return { entry }
}

/** Returns the entry as not sent, with the note, so that the person can try again. */
export function withSendFailure(entry: Entry, note: string): Entry {
  return { ...entry, sent: false, note }
}

/** Returns an empty entry for the new content of the ask, with the note. Only a typed rejection stays. */
export function resetAfterChange(ask: Ask, entry: Entry, note: string): Entry {
  const isRefusal =
    ask.type === 'permission' && readPermissionAnswer(entry.input, { canAlways: true }).type === 'reject'
  return { ...emptyEntry(ask), input: isRefusal ? entry.input : '', note }
}

/**
 * Returns the options that the input selects now, for their marks. Empty for a permission, and for input that does not answer.
 */
export function pickedOptions(ask: Ask, entry: Entry): readonly string[] {
  const question = currentQuestion(ask, entry)
  if (question === undefined || entry.input.trim() === '') return []
  const read = readQuestionAnswer(entry.input, question)
  return read.type === 'answer' ? read.answers : []
}

/** Returns the entry with this input and without a note. */
function withInput(entry: Entry, input: string): { entry: Entry } {
  return { entry: { ...entry, input, note: undefined } }
}

/** Marks the entry as sent, and clears its input and note. */
function withSentAnswer(entry: Entry, answer: Answer): { entry: Entry; answer: Answer } {
  return { entry: { ...entry, input: '', note: undefined, sent: true }, answer }
}

/**
 * Returns the number of the next choice in that direction, or the unchanged input at the end. Begins with the first choice, or
 * upwards with the last, if the input is not a number.
 */
function inputAfterArrow(entry: Entry, direction: 1 | -1, { ask, allowUnseen }: AskToAnswer): string {
  const count = currentQuestion(ask, entry)?.options.length ?? 0
  const numbers: readonly number[] =
    ask.type === 'permission' ? offerOf(ask, { allowUnseen }).numbers : Array.from({ length: count }, (_, at) => at + 1)
  const selected = /^\d+$/.test(entry.input) ? Number(entry.input) : direction === 1 ? 0 : Number.POSITIVE_INFINITY
  const next =
    direction === 1 ? numbers.find((number) => number > selected) : numbers.findLast((number) => number < selected)
  return next === undefined ? entry.input : String(next)
}

/** Returns the entry with the typed answer, marked as sent, or with a note why it isn't accepted. */
function submitPermission(entry: Entry, ask: PermissionAsk, options: { readonly allowUnseen: boolean }): Pressed {
  const read = readPermissionAnswer(entry.input, { canAlways: alwaysOffer(ask).type === 'offered' })
  const note = permissionError(read, offerOf(ask, options), ask)
  if (note !== undefined || read.type === 'error') return { entry: { ...entry, note } }
  return withSentAnswer(entry, read.type === 'reject' ? read : { type: 'permission', reply: read.answer })
}

/**
 * Returns the entry for the next question, or with all answers after the last one. With a note if the answer doesn't fit.
 */
function submitQuestion(entry: Entry, ask: Ask): Pressed {
  const question = currentQuestion(ask, entry)
  if (ask.type !== 'question' || question === undefined)
    return withSentAnswer(entry, { type: 'answers', answers: entry.answers })
  const read = readQuestionAnswer(entry.input, question)
  if (read.type === 'error') return { entry: { ...entry, note: answerError(question, read) } }
  const answers = [...entry.answers, read.answers]
  if (answers.length === ask.questions.length) return withSentAnswer(entry, { type: 'answers', answers })
  return { entry: { ...entry, answers, input: '', note: undefined } }
}
