import type { Question } from '../ask.ts'

/** The answers that a permission accepts. */
export interface AcceptedAnswers {
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
 * A parsed answer to a question: the labels or the free text to answer with. For an error, `piece` is the text that
 * doesn't fit, and `reason` says why: the text is `empty`, the question takes `one-only`, or the piece is
 * `not-an-option`.
 */
export type ReadQuestionAnswer =
  | { readonly type: 'answer'; readonly answers: readonly string[] }
  | { readonly type: 'error'; readonly reason: 'empty' | 'one-only' | 'not-an-option'; readonly piece: string }

/** Between a rejection and its reason: "no, use yarn", "3: use yarn". */
const reasonAfterRejection = /^[\s:,.;)–—-]+([\s\S]*)$/

const once = ['1', 'once', 'o', 'yes', 'y', 'ok', 'allow', 'allow once']
const always = ['2', 'always', 'a', 'allow always']
const reject = ['3', 'reject', 'r', 'no', 'n', 'deny']

/**
 * Parses a typed answer to a permission, in any case. The numbers are fixed: 1 once, 2 always, 3 reject. A reason may
 * follow a rejection. Nothing may follow a consent. An error if the text is none of these, or `always` isn't offered.
 */
export function readPermissionAnswer(typed: string, { canAlways, labels }: AcceptedAnswers): ReadPermissionAnswer {
  const text = normalized(typed)
  const isAccepted = (accepted: readonly string[], label: string | undefined): boolean =>
    accepted.includes(bareNumber(text)) || (label !== undefined && text !== '' && text === normalized(label))
  if (isAccepted(once, labels?.once)) return { type: 'answer', answer: 'once' }
  if (isAccepted(always, labels?.always)) {
    return canAlways ? { type: 'answer', answer: 'always' } : { type: 'error', reason: 'always-not-offered' }
  }
  const rejections = [...reject, ...(labels ? [normalized(labels.reject)] : [])].filter((word) => word !== '')
  // Longest first, so that a host's "reject it" is not read as "reject" with a reason.
  for (const word of rejections.toSorted((a, b) => b.length - a.length)) {
    const message = rejectionReason(typed, word)
    if (message === '') return { type: 'reject' }
    if (message !== undefined) return { type: 'reject', message }
  }
  return { type: 'error', reason: 'unclear' }
}

/**
 * The text after a rejection that begins with `word`, in any case. `''` if nothing follows. Undefined if the text
 * doesn't begin with it, or the word goes on.
 */
function rejectionReason(typed: string, word: string): string | undefined {
  const text = typed.trim().replace(/^#(?=\d)/, '')
  const start = text.slice(0, word.length)
  if (start.toLowerCase() !== word) return undefined
  const rest = text.slice(word.length)
  return rest === '' ? '' : reasonAfterRejection.exec(rest)?.[1]?.trim()
}

/**
 * Parses a typed answer to a question: option numbers from 1, labels, or free text if the question allows it or has no
 * options. For several options a person may write "1, 3 and 12", "1-3", "1 & sqlite" or "all". A number without an
 * option is an error, even where free text is allowed. Text in "double quotes" is taken literally. An option's number
 * keeps its quotes, as `checkAnswers` expects. Also an error: an empty text, several options where one is allowed, and
 * free text where none is.
 */
export function readQuestionAnswer(typed: string, question: Question): ReadQuestionAnswer {
  const whole = typed.trim()
  if (whole === '') return { type: 'error', reason: 'empty', piece: '' }
  const { options, custom, multiple } = question
  const single = optionLabelOf(question, whole) ?? quotedAnswer(question, whole)
  if (single !== undefined) return { type: 'answer', answers: [single] }
  if (options.length === 0) return { type: 'answer', answers: [whole] }
  if (multiple && allOptionsAnswers.has(normalized(whole)))
    return { type: 'answer', answers: options.map(({ label }) => label) }
  const pieces = piecesOf(whole, question)
  const answersByPiece = pieces.map((piece) => answersOf(question, piece))
  const isListed = answersByPiece.some((labels) => labels !== undefined)
  // "as you like, but quickly" names no option: it is a single free-text answer.
  if (custom && !isNumberList(whole) && !(multiple && isListed)) {
    const isList = pieces.length > 1 && !answersByPiece.includes(undefined)
    return isList ? { type: 'error', reason: 'one-only', piece: whole } : { type: 'answer', answers: [whole] }
  }
  if (pieces.length === 0) return { type: 'error', reason: 'empty', piece: whole }
  const unknownPiece = pieces.find((piece, at) => answersByPiece[at] === undefined && (!custom || isNumberList(piece)))
  if (unknownPiece !== undefined) {
    const isPart = isNumberList(whole) || (multiple && isListed)
    return { type: 'error', reason: 'not-an-option', piece: isPart ? unknownPiece : whole }
  }
  const answers = [...new Set(pieces.flatMap((piece, at) => answersByPiece[at] ?? [piece]))]
  if (!multiple && (pieces.length > 1 || answers.length > 1)) return { type: 'error', reason: 'one-only', piece: whole }
  return { type: 'answer', answers }
}

/** Answers that pick every option of a question that takes several. */
const allOptionsAnswers: ReadonlySet<string> = new Set(['all', 'all of them', 'everything'])

/** Numbers and their separators. Never free text. */
const numberListPattern = /^(?=.*\d)(?:[\d\s,;#.)&+–—-]|\b(?:and|to)\b)+$/is

/** Whether the text has only numbers and what separates them, such as "1, 3 and 12". */
function isNumberList(text: string): boolean {
  return numberListPattern.test(text)
}

/**
 * The options that a text lists, as written, without empty ones. Numbers are split at all separators. Other text is
 * split at commas, semicolons and line ends, and at "and" or "&" only between options.
 */
function piecesOf(whole: string, question: Question): readonly string[] {
  if (isNumberList(whole)) {
    const ranges = whole.replace(/(\d)\s*(?:[–—-]|\bto\b)\s*(?=#?\d)/gi, '$1-')
    return ranges.split(/(?:[\s,;&+]|\band\b)+/i).filter((piece) => piece !== '')
  }
  return whole.split(/[,;\n]+\s*(?:(?:and|&)\s)?/i).flatMap((text) => {
    const piece = text.trim()
    if (piece === '') return []
    if (answersOf(question, piece) !== undefined) return [piece]
    // One space each: a pattern of runs takes quadratic time for long ones.
    const parts = piece.replace(/\s+/g, ' ').split(/ (?:and|[&+]) /i)
    return parts.every((part) => answersOf(question, part) !== undefined) ? parts : [piece]
  })
}

/**
 * The answers that a piece stands for: the label of an option, a text in double quotes, or the labels of a range of numbers.
 * Undefined for other texts, and if the range leaves the options.
 */
function answersOf(question: Question, piece: string): readonly string[] | undefined {
  const single = optionLabelOf(question, piece) ?? quotedAnswer(question, piece)
  if (single !== undefined) return [single]
  const [, first, last] = /^#?(\d+)-#?(\d+)[.)]?$/.exec(piece) ?? []
  const from = Number(first)
  const to = Number(last)
  if (!(from >= 1 && from <= to && to <= question.options.length)) return undefined
  return question.options.slice(from - 1, to).map(({ label }) => label)
}

/**
 * Finds an option by its label, by its number or, if free text isn't allowed, by an unambiguous prefix of its label.
 * Returns its label. Undefined if there is none.
 */
function optionLabelOf({ options, custom }: Question, piece: string): string | undefined {
  const labels = options.map(({ label }) => label)
  const exact =
    labels.find((label) => label === piece) ?? labels.find((label) => normalized(label) === normalized(piece))
  if (exact !== undefined) return exact
  const number = /^#?\d+[.)]?$/.test(piece) ? labels[Number(bareNumber(piece)) - 1] : undefined
  if (number !== undefined || custom || /^\d/.test(piece)) return number
  const starting = labels.filter((label) => normalized(label).startsWith(normalized(piece)))
  return starting.length === 1 ? starting[0] : undefined
}

/**
 * The answer that a text in double quotes stands for: free text, or the option's label if only options are allowed. A
 * quoted number of an option keeps its quotes. Undefined if the text isn't quoted, or names no option where only
 * options are allowed.
 */
function quotedAnswer(question: Question, piece: string): string | undefined {
  const inner = /^"([^"]+)"$/.exec(piece)?.[1]
  if (inner === undefined) return undefined
  if (!question.custom) return question.options.length === 0 ? inner : optionLabelOf(question, inner)
  const isNumber = /^\d+$/.test(inner) && question.options[Number(inner) - 1] !== undefined
  return isNumber ? piece : inner
}

/** The number in "#2.", "2)" or "2". Any other text as it is. */
function bareNumber(text: string): string {
  return /^#?(\d+)[.)]?$/.exec(text)?.[1] ?? text
}

/** The text in lower case, trimmed, with one space between words. */
function normalized(text: string): string {
  return text.replace(/\s+/g, ' ').trim().toLowerCase()
}
