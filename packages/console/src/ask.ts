import { type Ask, type PermissionAsk, pendingAsks, type Question, type QuestionAsk, type Reply } from '@reply/core'
import { cleanLine } from './sanitize.ts'

/** What a person decided. */
export type Answer =
  | { readonly type: 'answers'; readonly answers: readonly (readonly string[])[] }
  | { readonly type: 'permission'; readonly reply: 'once' | 'always' }
  | { readonly type: 'reject'; readonly message?: string }

export type Parsed<T> = { readonly answer: T } | { readonly error: string }

/**
 * One question's answer from what was typed: numbers, labels, or free text where the question allows it.
 *
 * Several are separated by commas. Words in "double quotes" are taken as they stand, so that a number can be an answer.
 */
export function parseQuestion(question: Question, typed: string): Parsed<readonly string[]> {
  const input = typed.trim()
  if (input === '') return { error: howToAnswer(question) }
  if (!question.multiple || isWhole(question, input)) {
    const one = parseOne(question, input)
    return 'error' in one ? one : { answer: [one.answer] }
  }
  const pieces = input.split(/^[\d\s,;]+$/.test(input) ? /[\s,;]+/ : /,/).filter((piece) => piece.trim() !== '')
  const picked: string[] = []
  for (const piece of pieces) {
    const one = parseOne(question, piece.trim())
    if ('error' in one) return one
    if (!picked.includes(one.answer)) picked.push(one.answer)
  }
  if (picked.length === 0) return { error: howToAnswer(question) }
  // "as you like, but quickly" names no option: it is one answer in the person's own words.
  const known = picked.some((answer) => question.options.some(({ label }) => label === answer))
  return { answer: known || input.includes('"') ? picked : [input] }
}

/** "Type 1 to 3", with what else this question takes. */
export function howToAnswer(question: Question): string {
  const count = question.options.length
  if (count === 0) return 'type your answer'
  const numbers = count <= 2 ? ['1', '1 or 2'][count - 1] : `1 to ${count}`
  const several = question.multiple ? ', several with commas' : ''
  return `type ${numbers}${several}${question.custom ? ', or your own words' : ''}`
}

export function parsePermission(typed: string): Parsed<Answer> {
  const input = typed.trim()
  if (/^(?:1|o|once|y|yes|allow)$/i.test(input)) return { answer: { type: 'permission', reply: 'once' } }
  if (/^(?:2|a|always)$/i.test(input)) return { answer: { type: 'permission', reply: 'always' } }
  const refused = /^(?:3|r|reject|n|no|deny)(?:[\s,:]+(.*))?$/is.exec(input)
  if (!refused) return { error: 'type 1, 2 or 3; a reason may follow the 3' }
  const message = refused[1]?.trim() ?? ''
  return { answer: message === '' ? { type: 'reject' } : { type: 'reject', message } }
}

/** The first option of every question, or the permission once: what a demonstration without a person answers. */
export function firstAnswer(ask: Ask): Answer {
  if (ask.type === 'permission') return { type: 'permission', reply: 'once' }
  return { type: 'answers', answers: ask.questions.map(({ options }) => [options[0]?.label ?? 'yes']) }
}

/** One line that says what was asked. */
export function askTitle(ask: Ask): string {
  return ask.type === 'question' ? questionTitle(ask) : permissionTitle(ask)
}

/** Whether one answer is for both: the core says what is one question to a person. */
export function isOneQuestion(a: Ask, b: Ask, reply: Reply): boolean {
  const both = [a, b].map((ask) => ({ ...ask, status: 'pending' as const }))
  return pendingAsks({ ...reply, asks: both }).length === 1
}

/** The earlier ask whose question this one was while both were pending: a person saw only that. */
export function twinOf(ask: Ask, reply: Reply): Ask | undefined {
  const came = ask.askedAt ?? Number.POSITIVE_INFINITY
  const earlier = reply.asks.slice(
    0,
    Math.max(
      0,
      reply.asks.findIndex(({ requestID }) => requestID === ask.requestID),
    ),
  )
  return earlier.find(
    (other) => (other.closedAt ?? Number.POSITIVE_INFINITY) > came && isOneQuestion(other, ask, reply),
  )
}

function questionTitle(ask: QuestionAsk): string {
  return ask.questions.map(({ question, header }) => cleanLine(question) || cleanLine(header)).join(' · ')
}

function permissionTitle(ask: PermissionAsk): string {
  const title = cleanLine(ask.title)
  const patterns = cleanLine(ask.patterns.join(', '))
  if (title === '' || title === ask.permission)
    return patterns === '' ? ask.permission : `${ask.permission}: ${patterns}`
  return title.startsWith(ask.permission) ? title : `${ask.permission}: ${title}`
}

function parseOne(question: Question, input: string): Parsed<string> {
  const quoted = /^"(.+)"$/s.exec(input)?.[1]
  const { options } = question
  // A number that is an option's keeps its quotes: the core, too, takes it for the option without them.
  const isNumber = quoted !== undefined && /^\d+$/.test(quoted) && options[Number(quoted) - 1] !== undefined
  if (quoted !== undefined && question.custom) return { answer: isNumber ? input : quoted }
  const labelled = options.find(({ label }) => label === input) ?? options.find(({ label }) => same(label, input))
  if (labelled) return { answer: labelled.label }
  if (/^\d+$/.test(input) && options.length > 0) {
    const numbered = options[Number(input) - 1]
    if (numbered) return { answer: numbered.label }
    const words = question.custom ? `; to answer with the number itself, type "${input}" in quotes` : ''
    return { error: `there is no option ${input}: ${howToAnswer(question)}${words}` }
  }
  if (question.custom || options.length === 0) return { answer: input }
  const starting = options.filter(({ label }) => cleanLine(label).toLowerCase().startsWith(input.toLowerCase()))
  if (starting.length === 1 && starting[0]) return { answer: starting[0].label }
  return { error: `"${cleanLine(input)}" is none of the options: ${howToAnswer(question)}` }
}

/** A label that has commas of its own, or words in quotes. */
function isWhole({ options }: Question, input: string): boolean {
  return options.some(({ label }) => same(label, input)) || /^"[^"]+"$/.test(input)
}

function same(label: string, input: string): boolean {
  return cleanLine(label).toLowerCase() === cleanLine(input).toLowerCase()
}
