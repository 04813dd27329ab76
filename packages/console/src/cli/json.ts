import {
  answerOf,
  type Change,
  type Child,
  type Message,
  type Part,
  type Reply,
  reasoningOf,
  textOf,
} from '@reply/core'
import { cleanJson } from '../format/sanitize.ts'

/** One line: the whole reply as JSON, with the fields of `more` first and its `text`, `answer` and `reasoning` last. */
export function replyLine(reply: Reply, more: Readonly<Record<string, unknown>> = {}): string {
  return jsonLine({ ...more, ...reply, text: textOf(reply), answer: answerOf(reply), reasoning: reasoningOf(reply) })
}

/**
 * One line per change, with its session. Kept small: without wire events; messages come without their parts, children
 * without their replies, and a text that only grew as its `delta`.
 */
export function changeLine(change: Change, reply: Reply): string {
  return jsonLine({ type: change.type, sessionID: reply.sessionID, ...shortChange(change) })
}

function jsonLine(value: unknown): string {
  return `${cleanJson(JSON.stringify(value))}\n`
}

function shortChange(change: Change): Record<string, unknown> {
  // Observers get changes together with the reply. Neither the reply nor the wire event belongs in the line.
  const own: Record<string, unknown> = { ...change, reply: undefined, raw: undefined }
  if ('part' in change) own.part = shortPart(change.part, change.type === 'partChanged' && change.delta !== undefined)
  if ('message' in change && typeof change.message === 'object') own.message = shortMessage(change.message)
  if ('error' in change) own.error = { ...change.error, raw: undefined }
  if ('child' in change) own.child = shortChild(change.child)
  if (change.type === 'childChanged') own.change = shortChange(change.change)
  return own
}

function shortPart(part: Part, grown: boolean): Record<string, unknown> {
  return { ...part, raw: undefined, ...(grown ? { text: undefined } : {}) }
}

function shortMessage({ parts: _, raw: __, error, ...message }: Message): Record<string, unknown> {
  return { ...message, error: error && { ...error, raw: undefined } }
}

function shortChild({ reply, ...child }: Child): Record<string, unknown> {
  return { sessionID: reply.sessionID, ...child, phase: reply.phase, outcome: reply.outcome }
}
