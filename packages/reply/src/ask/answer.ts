import type { Question } from '../ask.ts'

/** Which answers a permission takes, and how they may be written. */
export interface PermissionWords {
  /** Whether `always` may be given: what `alwaysOffer` says of the ask. */
  readonly canAlways: boolean
  /** The host's labels for the three answers. Accepted in addition to the numbers and the English words. */
  readonly labels?: { readonly once: string; readonly always: string; readonly reject: string } | undefined
}

/**
 * What a typed answer to a permission means. `message` is the reason that was given with a rejection. An error says why
 * it means nothing: `always` was not offered, or the text is `unclear`.
 */
export type ReadPermissionAnswer =
  | { readonly type: 'answer'; readonly answer: 'once' | 'always' }
  | { readonly type: 'reject'; readonly message?: string }
  | { readonly type: 'error'; readonly reason: 'always-not-offered' | 'unclear' }

/**
 * What a typed answer to a question means: the labels or free text to answer with. An error says why it means nothing,
 * with the piece that doesn't fit in `given`: the text is `empty`, the question takes `one-only`, or the piece is
 * `not-an-option`.
 */
export type ReadQuestionAnswer =
  | { readonly type: 'answer'; readonly answers: readonly string[] }
  | { readonly type: 'error'; readonly reason: 'empty' | 'one-only' | 'not-an-option'; readonly given: string }

/** Between a refusal and its reason: "no, use yarn", "3: use yarn". */
const reasonAfter = /^[\s:,.;)–—-]+([\s\S]*)$/

const once = ['1', 'once', 'o', 'yes', 'y', 'ok', 'allow', 'allow once']
const always = ['2', 'always', 'a', 'allow always']
const reject = ['3', 'reject', 'r', 'no', 'n', 'deny']

/**
 * Reads what a person typed in answer to a permission. The numbers are the same everywhere: 1 once, 2 always, 3 reject.
 * A reason may follow a rejection; nothing may follow a consent.
 */
export function readPermissionAnswer(typed: string, { canAlways, labels }: PermissionWords): ReadPermissionAnswer {
  const text = fold(typed)
  const is = (words: readonly string[], label: string | undefined): boolean =>
    words.includes(bareNumber(text)) || (label !== undefined && text !== '' && text === fold(label))
  if (is(once, labels?.once)) return { type: 'answer', answer: 'once' }
  if (is(always, labels?.always)) {
    return canAlways ? { type: 'answer', answer: 'always' } : { type: 'error', reason: 'always-not-offered' }
  }
  const words = [...reject, ...(labels ? [fold(labels.reject)] : [])].filter((word) => word !== '')
  // Longest first, so that a host's "reject it" is not read as "reject" with a reason.
  for (const word of words.toSorted((a, b) => b.length - a.length)) {
    const message = reasonOf(typed, word)
    if (message === '') return { type: 'reject' }
    if (message !== undefined) return { type: 'reject', message }
  }
  return { type: 'error', reason: 'unclear' }
}

/** The text after the rejection; undefined if the text is not a rejection. */
function reasonOf(typed: string, word: string): string | undefined {
  const text = typed.trim().replace(/^#(?=\d)/, '')
  const start = text.slice(0, word.length)
  if (start.toLowerCase() !== word) return undefined
  const rest = text.slice(word.length)
  return rest === '' ? '' : reasonAfter.exec(rest)?.[1]?.trim()
}

/**
 * Reads what a person typed in answer to a question: option numbers from 1 or labels, separated by commas if several
 * may be picked; otherwise free text if the question allows it. A number without an option counts as free text. Text in
 * "double quotes" is taken literally; an option's number keeps its quotes, as `checkAnswers` expects.
 *
 * `given` of an error is the piece that didn't fit.
 */
export function readQuestionAnswer(typed: string, question: Question): ReadQuestionAnswer {
  const whole = typed.trim()
  if (whole === '') return { type: 'error', reason: 'empty', given: '' }
  const isFree = question.custom || question.options.length === 0
  const one = optionOf(question, whole) ?? quoted(question, whole)
  if (one !== undefined) return { type: 'answer', answers: [one] }
  const separator = /^[\d\s,;#.)]+$/.test(whole) ? /[\s,;]+/ : /[,;\n]+/
  const pieces = whole.split(separator).flatMap((piece) => (piece.trim() === '' ? [] : [piece.trim()]))
  const known = pieces.map((piece) => optionOf(question, piece) ?? quoted(question, piece))
  const isList = pieces.length > 1 && known.every((answer) => answer !== undefined)
  if (isList && !question.multiple) return { type: 'error', reason: 'one-only', given: whole }
  // "as you like, but quickly" names no option: it is a single free-text answer.
  if (question.multiple && known.some((answer) => answer !== undefined)) {
    const strange = isFree ? undefined : pieces.find((_, at) => known[at] === undefined)
    if (strange !== undefined) return { type: 'error', reason: 'not-an-option', given: strange }
    return { type: 'answer', answers: [...new Set(pieces.map((piece, at) => known[at] ?? piece))] }
  }
  if (isFree) return { type: 'answer', answers: [whole] }
  if (pieces.length === 0) return { type: 'error', reason: 'empty', given: whole }
  return { type: 'error', reason: 'not-an-option', given: whole }
}

/**
 * Finds the label that was meant: the label itself, its number, or, if free text isn't allowed, an unambiguous prefix.
 */
function optionOf({ options, custom }: Question, given: string): string | undefined {
  const labels = options.map(({ label }) => label)
  const exact = labels.find((label) => label === given) ?? labels.find((label) => fold(label) === fold(given))
  if (exact !== undefined) return exact
  const number = /^#?\d+[.)]?$/.test(given) ? labels[Number(bareNumber(given)) - 1] : undefined
  if (number !== undefined || custom || /^\d/.test(given)) return number
  const starting = labels.filter((label) => fold(label).startsWith(fold(given)))
  return starting.length === 1 ? starting[0] : undefined
}

/** Free text in quotes; if only options are allowed, the quoted option. */
function quoted(question: Question, given: string): string | undefined {
  const inner = /^"([^"]+)"$/.exec(given)?.[1]
  if (inner === undefined) return undefined
  if (!question.custom) return question.options.length === 0 ? inner : optionOf(question, inner)
  const isNumber = /^\d+$/.test(inner) && question.options[Number(inner) - 1] !== undefined
  return isNumber ? given : inner
}

/** "#2.", "2)" and "2" are the same number. */
function bareNumber(text: string): string {
  return /^#?(\d+)[.)]?$/.exec(text)?.[1] ?? text
}

function fold(text: string): string {
  return text.replace(/\s+/g, ' ').trim().toLowerCase()
}
