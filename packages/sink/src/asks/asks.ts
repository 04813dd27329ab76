import {
  type Answer,
  type Ask,
  alwaysOffer,
  type PermissionAsk,
  pendingAsks,
  type Question,
  type QuestionAsk,
  type Reply,
  readPermissionAnswer,
  readQuestionAnswer,
} from '@reply/core'
import { askDigest } from '@reply/core/internal'
import type { AskState } from '../ledger/card.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Chat, Form, MessageRef } from '../port/port.ts'
import type { Texts } from '../texts.ts'
import { resolvedText } from './ask-end.ts'
import { alwaysRefusalText } from './offer.ts'
import { isInputKnown } from './permission.ts'
import { secretIn } from './token.ts'

/** A person's input: text, or a press of a button with its token, and a form's values if it had one. */
export type AskInput = AskText | AskPress

/** An inbound text. Absent fields mean the same as in `Inbound`. */
export interface AskText {
  /** What the person wrote. */
  readonly text: string
  /** Default: the sink's own chat. */
  readonly chat?: Chat | undefined
  /** The person's own message. */
  readonly messageRef?: MessageRef | undefined
  /** The message that the person replied to. */
  readonly replyTo?: MessageRef | undefined
  /** The text was forwarded, so it answers nothing. */
  readonly isForwarded?: true | undefined
  /** It begins with a command, so it answers nothing. */
  readonly isCommand?: boolean | undefined
}

/** A press of a button, or a submitted form. */
export interface AskPress {
  /** The `data` of the button, or the `token` of the form. */
  readonly token: string
  /** The message with the button. The press counts only if the chat has that message of the ask. */
  readonly messageRef: MessageRef
  /** Set for a form: for each of its questions, what was picked or written. */
  readonly values?: readonly (readonly string[])[] | undefined
  /** Where it was pressed. Default: the sink's own chat. */
  readonly chat?: Chat | undefined
}

/** The result of reading an input. */
export type AskReading =
  | { readonly type: 'answer'; readonly answer: Answer; readonly state: AskState }
  | { readonly type: 'reject'; readonly message?: string | undefined; readonly state: AskState }
  /** Open a form with these questions. */
  | { readonly type: 'form'; readonly form: Form; readonly state: AskState }
  /** Not answered yet: another question follows, or more options may be picked. */
  | { readonly type: 'more'; readonly state: AskState }
  /** The input is not an answer; `error` says what would be. */
  | { readonly type: 'error'; readonly error: string }
  /** The ask was answered meanwhile, and the text names nothing that it offers: it is what the person says next. */
  | { readonly type: 'conversation' }

/** The tokens of an ask's buttons. Each begins with the secret of the card that has the button. */
export const tokens = {
  option: (secret: string, question: number, option: number): string => `${secret}.${question}.${option}`,
  /** Takes back an option that is picked. */
  unpick: (secret: string, question: number, option: number): string => `${secret}.${question}.${option}.u`,
  done: (secret: string, question: number): string => `${secret}.${question}.d`,
  /** Covers all questions from that one on. */
  form: (secret: string, question: number): string => `${secret}.${question}.f`,
  permission: (secret: string, reply: 'once' | 'always' | 'reject'): string => `${secret}.${reply}`,
}

/**
 * Adds the state of each new pending ask. A permission whose content changed begins anew. `now` is in ms since the
 * epoch. Returns the same object if nothing changed.
 */
export function withAsks(ledger: Ledger, reply: Reply, now: number): Ledger {
  const changed = pendingAsks(reply).flatMap((ask) => {
    const before = ledger.asks[ask.requestID]
    const state = nextAskState(ask, before, now)
    return state === before ? [] : [[ask.requestID, state] as const]
  })
  if (changed.length === 0) return ledger
  return { ...ledger, asks: { ...ledger.asks, ...Object.fromEntries(changed) } }
}

/**
 * Returns a new state if the ask is new or its content changed, with the former time, guard and explanation. Otherwise returns
 * the same state, also if a known input is unknown again after a restart.
 */
function nextAskState(ask: Ask, before: AskState | undefined, now: number): AskState {
  if (ask.type === 'question') return before ?? { answers: [], picked: [], seenAt: now }
  const digest = askDigest(ask)
  const isKnown = isInputKnown(ask)
  // After a restart the input becomes known a little later than the ask, and the screen may already show all of it.
  if (before && (before.digest === digest || (before.isInputKnown === true && !isKnown))) return before
  const seenAt = before?.seenAt ?? now
  const kept = { guard: before?.guard, isExplained: before?.isExplained }
  return { answers: [], picked: [], digest, isInputKnown: isKnown, seenAt, ...kept }
}

/**
 * Reads an input as an answer to an ask. An error if the ask is closed. A token must be of one of the ask's messages. Pure.
 */
export function readAskInput(
  ask: Ask,
  input: AskInput,
  { state, texts }: { readonly state: AskState; readonly texts: Texts },
): AskReading {
  if (ask.status !== 'pending') return { type: 'error', error: resolvedText(ask, state, texts) }
  if (ask.type === 'permission') return readPermissionInput(ask, input, { state, texts })
  return readQuestionInput(ask, input, { state, texts })
}

/**
 * Whether the reading is an answer that the ask offers: any answer to a permission, or only listed options of the current
 * question. False for a person's own text, forms and errors.
 */
export function isOffered(ask: Ask, reading: AskReading, { answers }: AskState): boolean {
  if (ask.type === 'permission') return reading.type === 'answer' || reading.type === 'reject'
  if (reading.type !== 'answer' && reading.type !== 'more') return false
  const all = reading.type === 'answer' && typeof reading.answer !== 'string' ? reading.answer : reading.state.answers
  const options = ask.questions[answers.length]?.options ?? []
  return (all[answers.length] ?? []).every((one) => options.some(({ label }) => label === one))
}

/**
 * Reads a press or a text as an answer to a permission. An unknown button, an unclear text, and an "always" that is not
 * offered give an error.
 */
function readPermissionInput(
  ask: PermissionAsk,
  input: AskInput,
  { state, texts }: { readonly state: AskState; readonly texts: Texts },
): AskReading {
  const canAlways = alwaysOffer(ask).type === 'offered'
  const answer = (reply: 'once' | 'always'): AskReading => ({ type: 'answer', answer: reply, state })
  if ('token' in input) {
    const secret = secretIn(input.token)
    if (input.token === tokens.permission(secret, 'once')) return answer('once')
    if (input.token === tokens.permission(secret, 'always') && canAlways) return answer('always')
    if (input.token === tokens.permission(secret, 'reject')) return { type: 'reject', state }
    return { type: 'error', error: texts.alreadyResolved }
  }
  const { allowOnce: once, allowAlways: always, reject } = texts
  const read = readPermissionAnswer(input.text, { canAlways, labels: { once, always, reject } })
  switch (read.type) {
    case 'answer':
      return answer(read.answer)
    case 'reject':
      return { ...read, state }
    case 'error': {
      const isUnclear = read.reason === 'unclear'
      if (isUnclear) return { type: 'error', error: texts.replyPermission(canAlways) }
      return { type: 'error', error: alwaysRefusalText(ask, texts) }
    }
    default:
      return read satisfies never
  }
}

/**
 * Reads a press, a form or a text as an answer to the current question. The button of a form gives `form`. If several options
 * may be picked, a press picks one or takes it back, as its button says, and the result is `more`: a press that is delivered twice
 * changes nothing the second time. A press of "done" without a pick, and a button of an earlier
 * question, give an error.
 */
function readQuestionInput(
  ask: QuestionAsk,
  input: AskInput,
  { state, texts }: { readonly state: AskState; readonly texts: Texts },
): AskReading {
  const questionIndex = state.answers.length
  const question = ask.questions[questionIndex]
  if (!question) return { type: 'error', error: texts.alreadyResolved }
  if ('text' in input) {
    const given = readTypedAnswer(question, input.text, texts)
    return given.error === undefined ? withNextAnswer(ask, state, given.picked) : { type: 'error', error: given.error }
  }
  const { token, values } = input
  if (values) return readFormInput(ask, { token, values }, { state, texts })
  const secret = secretIn(token)
  if (token === tokens.done(secret, questionIndex)) {
    return state.picked.length === 0
      ? { type: 'error', error: texts.pickSeveral }
      : withNextAnswer(ask, state, state.picked)
  }
  const opened = formStart(ask, token, state)
  if (opened >= 0) return { type: 'form', form: formOf(ask, opened, { secret, texts }), state }
  const unpicked = question.options.find((_, index) => tokens.unpick(secret, questionIndex, index) === token)
  if (unpicked) {
    const picked = state.picked.filter((label) => label !== unpicked.label)
    return { type: 'more', state: { ...state, picked } }
  }
  const option = question.options.find((_, index) => tokens.option(secret, questionIndex, index) === token)
  // A button of an earlier question, pressed again.
  if (!option) return { type: 'error', error: texts.alreadyResolved }
  if (!question.multiple) return withNextAnswer(ask, state, [option.label])
  const picked = [...new Set([...state.picked, option.label])]
  return { type: 'more', state: { ...state, picked } }
}

/** Returns a form with all questions from index `firstIndex` on. */
export function formOf(
  ask: QuestionAsk,
  firstIndex: number,
  { secret, texts }: { readonly secret: string; readonly texts: Texts },
): Form {
  return { token: tokens.form(secret, firstIndex), label: texts.fillIn, questions: ask.questions.slice(firstIndex) }
}

/** Returns the index of the first question of the token's form. -1 for other tokens, and for forms of later questions. */
function formStart(ask: QuestionAsk, token: string, { answers }: AskState): number {
  const firstIndex = ask.questions.findIndex((_, index) => token === tokens.form(secretIn(token), index))
  return firstIndex > answers.length ? -1 : firstIndex
}

/**
 * Reads the values of a form. They replace answers that were given one by one in the meantime. If the form had no room
 * for all questions, its values are for the first ones, and the others are asked next. The first value that is missing or
 * wrong gives an error that says what is expected. So does a form of a later question.
 */
function readFormInput(
  ask: QuestionAsk,
  { token, values }: { readonly token: string; readonly values: readonly (readonly string[])[] },
  { state, texts }: { readonly state: AskState; readonly texts: Texts },
): AskReading {
  const firstIndex = formStart(ask, token, state)
  if (firstIndex < 0 || values.length === 0) return { type: 'error', error: texts.alreadyResolved }
  const given = ask.questions.slice(firstIndex, firstIndex + values.length).map((question, index): TypedAnswer => {
    const written = (values[index] ?? []).filter((value) => value.trim() !== '')
    if (written.length === 0) return { error: texts.replyWith({ ...question, options: question.options.length }) }
    const read = written.map((value) => readTypedAnswer(question, value, texts))
    const picked = new Set(read.flatMap((one) => one.picked ?? []))
    if (picked.size > 1 && !question.multiple) return { error: texts.oneOnly }
    return read.find(({ error }) => error !== undefined) ?? { picked: [...picked] }
  })
  const wrong = given.find((one) => one.error !== undefined)
  if (wrong?.error !== undefined) return { type: 'error', error: wrong.error }
  const answers = [...state.answers.slice(0, firstIndex), ...given.map(({ picked = [] }) => picked)]
  const next = { ...state, answers, picked: [] }
  return answers.length < ask.questions.length
    ? { type: 'more', state: next }
    : { type: 'answer', answer: answers, state: next }
}

/** Adds the answer to the current question. The result is `answer` after the last question, otherwise `more`. */
function withNextAnswer(ask: QuestionAsk, before: AskState, answer: readonly string[]): AskReading {
  const allAnswers = [...before.answers, answer]
  const state = { ...before, answers: allAnswers, picked: [] }
  return allAnswers.length < ask.questions.length
    ? { type: 'more', state }
    : { type: 'answer', answer: allAnswers, state }
}

type TypedAnswer =
  | { readonly picked: readonly string[]; readonly error?: undefined }
  | { readonly error: string; readonly picked?: undefined }

/** Reads a typed text as the answer to a question, or returns an error that says what would be one. */
function readTypedAnswer(question: Question, text: string, texts: Texts): TypedAnswer {
  const read = readQuestionAnswer(text, question)
  if (read.type === 'answer') return { picked: read.answers }
  switch (read.reason) {
    case 'empty':
      return { error: texts.replyWith({ ...question, options: question.options.length }) }
    case 'one-only':
      return { error: texts.oneOnly }
    case 'not-an-option':
      return { error: texts.notAnOption(read.piece, numberedLabels(question), question.custom) }
    default:
      return read.reason satisfies never
  }
}

/** Returns the options as `1 (label)`, counted from 1. */
function numberedLabels({ options }: Question): readonly string[] {
  return options.map(({ label }, index) => `${index + 1} (${label})`)
}
