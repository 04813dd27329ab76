import type { Fields } from '../fields.ts'
import { scenarioIn } from '../script.ts'

/** The parts of a request for an answer that a script can depend on. */
export interface ScriptRequest {
  readonly kind: 'step' | 'title' | 'summary'
  /** The latest scenario named in a user's or the assistant's text, if any. */
  readonly scenario: string | undefined
  /** The user's message that names the scenario, else the last one. Empty if there are no messages. */
  readonly prompt: string
  /** Answered tool rounds since the message that named the scenario, or since the last prompt. */
  readonly step: number
  /** Texts of the tool results and of the user since then, joined by line breaks. */
  readonly results: string
  /** The same for every retry of one request. */
  readonly identity: string
}

/** A request in terms of all dialects. */
export interface Conversation {
  /** In order. */
  readonly turns: readonly Turn[]
  /** Whether the request offers tools. */
  readonly hasTools: boolean
  /**
   * Whether the answer must be JSON, as for an agent's own classifiers. Its shape is unknown to scripts. Default false.
   */
  readonly wantsJSON?: boolean
}

/** One message. Vendors that put tool results into a user's message have a turn for them and one for the rest. */
export interface Turn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly text: string
  /** Whether the assistant calls tools in it. */
  readonly calls: boolean
}

/** Whether a value is a JSON object. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The objects in a list. Empty for anything else. */
export const objectsIn = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

/**
 * Returns the text of a message's content, a string or a list of parts. A part without text is an empty line. Empty for
 * anything else.
 */
export const contentText = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : objectsIn(content)
        .map((part) => (typeof part.text === 'string' ? part.text : ''))
        .join('\n')

/**
 * Returns what a conversation asks for, and which script answers it: the latest named by the user or the assistant. The
 * step counts from the message that names it, else from the user's last one, else from the beginning.
 */
export const readRequest = ({ turns, hasTools }: Conversation): ScriptRequest => {
  const spoken = turns.filter(({ role }) => role !== 'system' && role !== 'tool')
  const named = spoken.findLast(({ text }) => scenarioIn(text) !== undefined)
  const scenario = named === undefined ? undefined : scenarioIn(named.text)
  const opening = named ?? turns.findLast(({ role }) => role === 'user')
  const since = opening === undefined ? turns : turns.slice(turns.indexOf(opening))
  const step = since.filter(({ role, calls }) => role === 'assistant' && calls).length
  // What the agent itself adds, for example that a command in the background has ended, counts as a result.
  const results = since
    .slice(1)
    .filter(({ role }) => role === 'tool' || role === 'user')
    .map(({ text }) => text)
  const texts = turns.filter(({ role }) => role !== 'system').map(({ text }) => text)
  return {
    kind: requestKind(turns, hasTools),
    scenario,
    prompt: opening?.text ?? '',
    step,
    results: results.join('\n'),
    identity: [scenario, step, ...texts].join('\u0000'),
  }
}

/**
 * Returns `step` for a request with tools, unless its system prompt asks for a summary. Agents offer none for a title,
 * which the prompt asks for. Returns `summary` for any other.
 */
const requestKind = (turns: readonly Turn[], hasTools: boolean): ScriptRequest['kind'] => {
  if (hasTools && !asksForSummary(turns)) return 'step'
  return turns.some(({ text }) => /generate a title|title generator/i.test(text)) ? 'title' : 'summary'
}

/** Whether a system prompt asks for a summary, by the wording that agents use. */
const asksForSummary = (turns: readonly Turn[]): boolean =>
  turns.some(({ role, text }) => role === 'system' && /summarizing conversations|summarization/i.test(text))
