import { type Ask, type AskDetail, askDetails, askTitle, escapeDeceptive, type Question } from '@reply/core'
import { askDigest, permissionAnswers } from '@reply/core/internal'
import type { AgUiInterrupt } from './event.ts'

/** What waits for a person, as it is in `metadata.reply` of an interrupt and in an activity of type `reply.ask`. */
export interface AgUiAsk {
  /** What kind of ask it is. */
  readonly type: Ask['type']
  /** Only `pending` asks can be answered. */
  readonly status: Ask['status']
  /** One line for people. */
  readonly title: string
  /** All that a permission would allow, in reading order. Absent for questions, and while it isn't known. */
  readonly details?: readonly AskDetail[]
  /** What `always` would allow from then on. Absent if it isn't offered. */
  readonly always?: readonly string[]
  /** The questions, in order. Absent for a permission. */
  readonly questions?: readonly Question[]
}

/** Where an ask is shown. */
interface AskPlace {
  /** The tool call that asks, as this run names it. */
  readonly toolCallId: string | undefined
  /** The sub-agent that asks. */
  readonly subagentRunId: string | undefined
}

/** Between the request's id and the digest. No server uses it in an id. */
const separator = '~'

/** Returns the id of an ask's interrupt. Another content gives another id. */
export function interruptIdOf(ask: Ask): string {
  return `${ask.requestID}${separator}${askDigest(ask)}`
}

/** Returns the id of the request in an interrupt's id. Undefined if it isn't one of ours. */
export function requestIDIn(interruptId: string): string | undefined {
  const at = interruptId.lastIndexOf(separator)
  return at <= 0 ? undefined : interruptId.slice(0, at)
}

/** Describes an ask for people. */
export function askOf(ask: Ask): AgUiAsk {
  const { type, status } = ask
  if (ask.type === 'question') return { type, status, title: questionsText(ask.questions), questions: ask.questions }
  const details = askDetails(ask)
  return {
    type,
    status,
    title: askTitle(ask),
    ...(details && { details }),
    ...(permissionAnswers(ask).includes('always') && { always: ask.always.map((pattern) => escapeDeceptive(pattern)) }),
  }
}

/** Returns the interrupt that asks a person. Allowing is only offered if all that it would allow is in the message. */
export function interruptOf(ask: Ask, { toolCallId, subagentRunId }: AskPlace): AgUiInterrupt {
  const described = askOf(ask)
  const isBound = ask.type === 'permission' && toolCallId !== undefined
  return {
    id: interruptIdOf(ask),
    reason: ask.type === 'question' ? 'input_required' : isBound ? 'tool_call' : 'confirmation',
    message: messageOf(described),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(subagentRunId !== undefined && { subagentRunId }),
    responseSchema:
      ask.type === 'question' ? answersSchema(ask.questions) : { type: 'string', enum: permissionAnswers(ask) },
    metadata: { reply: described },
  }
}

/** All that a person decides about, as plain text. */
function messageOf({ title, details = [], always }: AgUiAsk): string {
  const texts = details.map(({ label, text }) => (label === '' ? text : `${label}:\n${text}`))
  const reach = always === undefined ? [] : [`"always" would also allow: ${always.join(', ')}`]
  return [title, ...texts, ...reach].join('\n\n')
}

/** Questions as text, with their options below. */
function questionsText(questions: readonly Question[]): string {
  return questions
    .map(({ question, options }) =>
      [
        question,
        ...options.map(({ label, description }) => `- ${label}${description === '' ? '' : `: ${description}`}`),
      ].join('\n'),
    )
    .join('\n\n')
}

/** A list for each question: labels of its options, or free text where it is allowed. */
function answersSchema(questions: readonly Question[]): AgUiInterrupt['responseSchema'] {
  return {
    type: 'array',
    minItems: questions.length,
    maxItems: questions.length,
    prefixItems: questions.map(({ question, options, multiple, custom }) => {
      const labels = options.map(({ label }) => label)
      const listed = { type: 'string', enum: labels }
      const free = { type: 'string', minLength: 1 }
      const items = !custom && labels.length > 0 ? listed : labels.length === 0 ? free : { anyOf: [listed, free] }
      return { type: 'array', title: question, minItems: 1, ...(multiple ? {} : { maxItems: 1 }), items }
    }),
  }
}
