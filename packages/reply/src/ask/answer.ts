import type { Question } from '../ask.ts'

/** The answers that a permission accepts. */
export interface PermissionWords {
  /** Whether to accept `always`. Pass true only if `alwaysOffer` returns `offered`. */
  readonly canAlways: boolean
  /** Your labels for the three answers. Accepted in addition to the numbers and the English answers. */
  readonly labels?: { readonly once: string; readonly always: string; readonly reject: string } | undefined
}

/**
 * A parsed answer to a permission. `message` is the reason that a person gave with a rejection. An error's `reason`:
 * `always` was not offered, or the text is `unclear`.
 */
export type ReadPermissionAnswer =
  | { readonly type: 'answer'; readonly answer: 'once' | 'always' }
  | { readonly type: 'reject'; readonly message?: string }
  | { readonly type: 'error'; readonly reason: 'always-not-offered' | 'unclear' }

/**
 * A parsed answer to a question: the labels or the free text to answer with. An error has the piece that doesn't fit in
 * `given`. Its `reason`: the text is `empty`, the question takes `one-only`, or the piece is `not-an-option`.
 */
export type ReadQuestionAnswer =
  | { readonly type: 'answer'; readonly answers: readonly string[] }
  | { readonly type: 'error'; readonly reason: 'empty' | 'one-only' | 'not-an-option'; readonly given: string }

/** Between a rejection and its reason: "no, use yarn", "3: use yarn". */
const reasonAfter = /^[\s:,.;)–—-]+([\s\S]*)$/

const once = ['1', 'once', 'o', 'yes', 'y', 'ok', 'allow', 'allow once']
const always = ['2', 'always', 'a', 'allow always']
const reject = ['3', 'reject', 'r', 'no', 'n', 'deny']

/**
 * Parses a typed answer to a permission. The numbers are fixed: 1 once, 2 always, 3 reject. A reason may follow a
 * rejection. Nothing may follow a consent.
 */
export function readPermissionAnswer(typed: string, { canAlways, labels }: PermissionWords): ReadPermissionAnswer {
  const text = fold(typed)
  const is = (accepted: readonly string[], label: string | undefined): boolean =>
    accepted.includes(bareNumber(text)) || (label !== undefined && text !== '' && text === fold(label))
  if (is(once, labels?.once)) return { type: 'answer', answer: 'once' }
  if (is(always, labels?.always)) {
    return canAlways ? { type: 'answer', answer: 'always' } : { type: 'error', reason: 'always-not-offered' }
  }
  const rejections = [...reject, ...(labels ? [fold(labels.reject)] : [])].filter((word) => word !== '')
  // Longest first, so that a host's "reject it" is not read as "reject" with a reason.
  for (const word of rejections.toSorted((a, b) => b.length - a.length)) {
    const message = reasonOf(typed, word)
    if (message === '') return { type: 'reject' }
    if (message !== undefined) return { type: 'reject', message }
  }
  return { type: 'error', reason: 'unclear' }
}

/** The text after the rejection. Undefined if the text is not a rejection. */
function reasonOf(typed: string, word: string): string | undefined {
  const text = typed.trim().replace(/^#(?=\d)/, '')
  const start = text.slice(0, word.length)
  if (start.toLowerCase() !== word) return undefined
  const rest = text.slice(word.length)
  return rest === '' ? '' : reasonAfter.exec(rest)?.[1]?.trim()
}

/**
 * Parses a typed answer to a question: option numbers from 1, labels, or free text if the question allows it. For several
 * options a person may write "1, 3 and 12", "1-3", "1 & sqlite" or "all". A number without an option is an error, even
 * where free text is allowed. Text in "double quotes" is taken literally. An option's number keeps its quotes, as
 * `checkAnswers` expects.
 */
export function readQuestionAnswer(typed: string, question: Question): ReadQuestionAnswer {
  const whole = typed.trim()
  if (whole === '') return { type: 'error', reason: 'empty', given: '' }
  const { options, custom, multiple } = question
  const one = optionOf(question, whole) ?? quoted(question, whole)
  if (one !== undefined) return { type: 'answer', answers: [one] }
  if (options.length === 0) return { type: 'answer', answers: [whole] }
  if (multiple && everything.has(fold(whole))) return { type: 'answer', answers: options.map(({ label }) => label) }
  const pieces = piecesOf(whole, question)
  const known = pieces.map((piece) => labelsOf(question, piece))
  const isListed = known.some((labels) => labels !== undefined)
  // "as you like, but quickly" names no option: it is a single free-text answer.
  if (custom && !isNumbers(whole) && !(multiple && isListed)) {
    const isList = pieces.length > 1 && !known.includes(undefined)
    return isList ? { type: 'error', reason: 'one-only', given: whole } : { type: 'answer', answers: [whole] }
  }
  if (pieces.length === 0) return { type: 'error', reason: 'empty', given: whole }
  const strange = pieces.find((piece, at) => known[at] === undefined && (!custom || isNumbers(piece)))
  if (strange !== undefined) {
    const isPart = isNumbers(whole) || (multiple && isListed)
    return { type: 'error', reason: 'not-an-option', given: isPart ? strange : whole }
  }
  const answers = [...new Set(pieces.flatMap((piece, at) => known[at] ?? [piece]))]
  if (!multiple && (pieces.length > 1 || answers.length > 1)) return { type: 'error', reason: 'one-only', given: whole }
  return { type: 'answer', answers }
}

/** Words for every option of a question that takes several. */
const everything: ReadonlySet<string> = new Set(['all', 'all of them', 'everything'])

/** Numbers and their separators. Never free text. */
const numbers = /^(?=.*\d)(?:[\d\s,;#.)&+–—-]|\b(?:and|to)\b)+$/is

function isNumbers(text: string): boolean {
  return numbers.test(text)
}

/** The options that a text lists, as written. Other text is split at commas. */
function piecesOf(whole: string, question: Question): readonly string[] {
  if (isNumbers(whole)) {
    const ranges = whole.replace(/(\d)\s*(?:[–—-]|\bto\b)\s*(?=#?\d)/gi, '$1-')
    return ranges.split(/(?:[\s,;&+]|\band\b)+/i).filter((piece) => piece !== '')
  }
  return whole.split(/[,;\n]+\s*(?:(?:and|&)\s)?/i).flatMap((text) => {
    const piece = text.trim()
    if (piece === '') return []
    if (labelsOf(question, piece) !== undefined) return [piece]
    // One space each: a pattern of runs takes quadratic time for long ones.
    const parts = piece.replace(/\s+/g, ' ').split(/ (?:and|[&+]) /i)
    return parts.every((part) => labelsOf(question, part) !== undefined) ? parts : [piece]
  })
}

/** The labels that a piece names: one option, or a range of numbers. */
function labelsOf(question: Question, piece: string): readonly string[] | undefined {
  const one = optionOf(question, piece) ?? quoted(question, piece)
  if (one !== undefined) return [one]
  const [, first, last] = /^#?(\d+)-#?(\d+)[.)]?$/.exec(piece) ?? []
  const from = Number(first)
  const to = Number(last)
  if (!(from >= 1 && from <= to && to <= question.options.length)) return undefined
  return question.options.slice(from - 1, to).map(({ label }) => label)
}

/**
 * Finds an option by its label, by its number or, if free text isn't allowed, by an unambiguous prefix of its label.
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

/** Free text in quotes. If only options are allowed, the quoted option. */
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
