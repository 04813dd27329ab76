import { scenarioIn } from './script.ts'

/** The parts of a chat request that a script can depend on. */
export interface Asked {
  readonly kind: 'step' | 'title' | 'summary'
  /** The latest scenario named in a user's or the assistant's text; undefined if there is none. */
  readonly scenario: string | undefined
  /** The user's message that names the scenario, else the last one; empty if there is none. */
  readonly prompt: string
  /** Answered tool rounds since the message that named the scenario, or since the last prompt. */
  readonly step: number
  /** Texts of the tool results since then, joined by line breaks. */
  readonly results: string
  /** The same for every retry of one request. */
  readonly identity: string
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

/** Chat content is a string or a list of parts; only text counts. */
const contentOf = (message: Fields): string =>
  typeof message.content === 'string'
    ? message.content
    : listOf(message.content)
        .map((part) => (typeof part.text === 'string' ? part.text : ''))
        .join('\n')

/** Reads an OpenAI-compatible chat request; an unknown shape counts as empty. */
export const readRequest = (body: unknown): Asked => {
  const fields = isFields(body) ? body : {}
  const messages = listOf(fields.messages)
  const spoken = messages.filter((message) => message.role !== 'system' && message.role !== 'tool')
  const named = spoken.findLast((message) => scenarioIn(contentOf(message)) !== undefined)
  const scenario = named === undefined ? undefined : scenarioIn(contentOf(named))
  const opening = named ?? messages.findLast((message) => message.role === 'user')
  const since = opening === undefined ? messages : messages.slice(messages.indexOf(opening))
  const step = since.filter((message) => message.role === 'assistant' && listOf(message.tool_calls).length > 0).length
  const results = since.filter((message) => message.role === 'tool').map(contentOf)
  const identity = [scenario, step, ...messages.filter((each) => each.role !== 'system').map(contentOf)].join('\u0000')
  return {
    kind: kindOf(fields, messages),
    scenario,
    prompt: opening === undefined ? '' : contentOf(opening),
    step,
    results: results.join('\n'),
    identity,
  }
}

/** OpenCode offers tools in every step, but not for a title or a summary; the title's prompt says so. */
const kindOf = (fields: Fields, messages: readonly Fields[]): Asked['kind'] => {
  if (listOf(fields.tools).length > 0 && !isSummary(messages)) return 'step'
  return messages.some((message) => /generate a title|title generator/i.test(contentOf(message))) ? 'title' : 'summary'
}

const isSummary = (messages: readonly Fields[]): boolean =>
  messages.some(
    (message) => message.role === 'system' && /summarizing conversations|summarization/i.test(contentOf(message)),
  )
