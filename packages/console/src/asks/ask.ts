import {
  type Ask,
  alwaysOffer,
  askDetails,
  askTitle,
  isEqualAsk,
  type PermissionAsk,
  type Question,
  type QuestionAsk,
  type Reply,
} from '@reply/core'
import type { ReadPermissionAnswer, ReadQuestionAnswer } from '@reply/core/internal'
import { legibleLine, visibleLine } from '../format/sanitize.ts'

/** A person's decision. */
export type Answer =
  | { readonly type: 'answers'; readonly answers: readonly (readonly string[])[] }
  | { readonly type: 'permission'; readonly reply: 'once' | 'always' }
  | { readonly type: 'reject'; readonly message?: string }

/** Returns "type 1 to 3", and what else this question accepts. */
export function howToAnswer(question: Question): string {
  const count = question.options.length
  if (count === 0) return 'type your answer'
  const numbers = count <= 2 ? ['1', '1 or 2'][count - 1] : `1 to ${count}`
  const several = question.multiple ? ', separate several with commas' : ''
  return `type ${numbers}${several}${question.custom ? ', or your own answer' : ''}`
}

/** Returns the error for a wrong answer to a question, with a hint. */
export function answerError(question: Question, wrong: Extract<ReadQuestionAnswer, { type: 'error' }>): string {
  const how = howToAnswer(question)
  switch (wrong.reason) {
    case 'empty':
      return how
    case 'one-only':
      return `pick one: ${how}`
    case 'not-an-option':
      if (question.custom) return `there is no option ${wrong.piece}: ${how}. If it is your own answer, quote it`
      return /^\d+$/.test(wrong.piece)
        ? `there is no option ${wrong.piece}: ${how}`
        : `"${visibleLine(wrong.piece)}" is not one of the options: ${how}`
  }
  return wrong.reason satisfies never
}

/** The answers that a person may give to a permission here, by their fixed numbers. */
export interface Offer {
  /** Whether the input of the permission's call is known. */
  readonly isKnown: boolean
  readonly numbers: readonly (1 | 2 | 3)[]
}

/**
 * Returns the numbers of the answers that a permission offers. Allowing requires that the input is readable, or that unseen
 * input may be allowed.
 */
export function offerOf(ask: PermissionAsk, { allowUnseen }: { readonly allowUnseen: boolean }): Offer {
  const isKnown = askDetails(ask) !== undefined
  if (!isKnown && !allowUnseen) return { isKnown, numbers: [3] }
  return { isKnown, numbers: alwaysOffer(ask).type === 'offered' ? [1, 2, 3] : [1, 3] }
}

/**
 * Returns why "always" is not offered, although the server supports it. Undefined if it is offered, or would cover nothing.
 */
export function whyNotAlways(ask: PermissionAsk): string | undefined {
  const offer = alwaysOffer(ask)
  switch (offer.type) {
    case 'offered':
    case 'none':
      return undefined
    case 'everything': {
      const isAll = offer.pattern === '*'
      const why = isAll
        ? `it would allow every call of ${legibleLine(ask.permission)}`
        : `${legibleLine(offer.pattern)} has no limit`
      return `"always" is not offered, because ${why}`
    }
    case 'runs-anything':
      return `"always" is not offered, because ${legibleLine(offer.program)} can run anything`
    default:
      return offer satisfies never
  }
}

/** Returns a hint for a permission: "type 1 or 3". */
export function howToPermit({ numbers }: Offer): string {
  const [last, ...others] = numbers.toReversed()
  const list = others.length === 0 ? `${last}` : `${others.toReversed().join(', ')} or ${last}`
  return `type ${list}. You can add a reason after the 3`
}

/** Returns the error for a wrong answer to a permission. Undefined if the answer is offered. */
export function permissionError(read: ReadPermissionAnswer, offer: Offer, ask: PermissionAsk): string | undefined {
  const how = howToPermit(offer)
  if (read.type === 'error')
    return read.reason === 'unclear' ? how : `${whyNotAlways(ask) ?? '"always" is not offered here'}: ${how}`
  if (read.type === 'reject' || offer.numbers.includes(read.answer === 'once' ? 1 : 2)) return undefined
  return `what it would run is not known, so it cannot be allowed: ${how}`
}

const knownContents = new WeakMap<Ask, string>()

/** Returns everything that a person reads before answering, as a key: asks with equal content are the same decision. */
export function contentOf(ask: Ask): string {
  const known = knownContents.get(ask)
  if (known !== undefined) return known
  const read =
    ask.type === 'question' ? ask.questions : [ask.title, askTitle(ask), ask.patterns, ask.always, askDetails(ask)]
  const content = JSON.stringify(read)
  knownContents.set(ask, content)
  return content
}

/** Returns `once`, or the first option of every question ("yes" for one without options), for a demo without a person. */
export function firstAnswer(ask: Ask): Answer {
  if (ask.type === 'permission') return { type: 'permission', reply: 'once' }
  return { type: 'answers', answers: ask.questions.map(({ options }) => [options[0]?.label ?? 'yes']) }
}

/** Returns an ask in one line: its questions, or what a permission would run. */
export function summaryOf(ask: Ask): string {
  return ask.type === 'question' ? questionTitle(ask) : permissionTitle(ask)
}

/**
 * Returns the earlier pending ask that this one was merged with. People only saw the earlier one. Undefined if there is
 * none.
 */
export function earlierTwinOf(ask: Ask, reply: Reply): Ask | undefined {
  const askedAt = ask.askedAt ?? Number.POSITIVE_INFINITY
  const earlier = reply.asks.slice(
    0,
    Math.max(
      0,
      reply.asks.findIndex(({ requestID }) => requestID === ask.requestID),
    ),
  )
  return earlier.find((other) => (other.closedAt ?? Number.POSITIVE_INFINITY) > askedAt && isEqualAsk(other, ask))
}

/** Returns the questions in one line. A blank one is replaced by its header. */
function questionTitle(ask: QuestionAsk): string {
  return ask.questions.map(({ question, header }) => visibleLine(question) || visibleLine(header)).join(' · ')
}

/**
 * Returns the command or title, after the permission's name unless it begins with it. Without a title of its own, the
 * permission's patterns follow its name.
 */
function permissionTitle(ask: PermissionAsk): string {
  const command = ask.call?.input.command
  const title = legibleLine(typeof command === 'string' ? command : ask.title)
  const patterns = legibleLine(ask.patterns.join(', '))
  if (title === '' || title === ask.permission)
    return patterns === '' ? legibleLine(ask.permission) : `${legibleLine(ask.permission)}: ${patterns}`
  return title.startsWith(ask.permission) ? title : `${legibleLine(ask.permission)}: ${title}`
}
