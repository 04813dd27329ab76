import type { Part, ReasoningPart, TextPart, ToolPart } from '../part.ts'
import type { Child, Message, Reply } from '../reply.ts'

/**
 * Every reply, message and streamed part is made by one literal here, so that all of a kind share one shape: reading
 * and copying them stays fast however they came about. Object spread on the way of each delta costs more than all the rest.
 */

/** Every key written out, also those that may be absent: a field that a literal forgets doesn't compile. */
export type Whole<T> = { readonly [K in keyof Required<T>]: T[K] }

/** A reply whose session is all that is known. */
export function emptyReply(sessionID: string): Reply {
  return {
    sessionID,
    directory: undefined,
    title: undefined,
    promptIDs: [],
    prompt: undefined,
    agent: undefined,
    model: undefined,
    phase: 'waiting',
    outcome: undefined,
    lostReason: undefined,
    finish: undefined,
    messages: [],
    asks: [],
    children: [],
    todos: [],
    usage: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0, cost: 0, steps: 0 },
    retry: undefined,
    compaction: undefined,
    error: undefined,
    aborting: undefined,
    connection: 'live',
    stalled: false,
    startedAt: undefined,
    settledAt: undefined,
  } satisfies Whole<Reply>
}

export function withMessages(reply: Reply, messages: readonly Message[]): Reply {
  return shaped(reply, messages, reply.children)
}

export function withChildren(reply: Reply, children: readonly Child[]): Reply {
  return shaped(reply, reply.messages, children)
}

/** Any fields at all; for what is not on the way of each delta. */
export function withFields(reply: Reply, fields: Partial<Reply>): Reply {
  return Object.assign(shaped(reply, reply.messages, reply.children), fields)
}

function shaped(reply: Reply, messages: readonly Message[], children: readonly Child[]): Reply {
  return {
    sessionID: reply.sessionID,
    directory: reply.directory,
    title: reply.title,
    promptIDs: reply.promptIDs,
    prompt: reply.prompt,
    agent: reply.agent,
    model: reply.model,
    phase: reply.phase,
    outcome: reply.outcome,
    lostReason: reply.lostReason,
    finish: reply.finish,
    messages,
    asks: reply.asks,
    children,
    todos: reply.todos,
    usage: reply.usage,
    retry: reply.retry,
    compaction: reply.compaction,
    error: reply.error,
    aborting: reply.aborting,
    connection: reply.connection,
    stalled: reply.stalled,
    startedAt: reply.startedAt,
    settledAt: reply.settledAt,
  } satisfies Whole<Reply>
}

export function withParts(message: Omit<Message, 'parts'>, parts: readonly Part[]): Message {
  return {
    id: message.id,
    parentID: message.parentID,
    createdAt: message.createdAt,
    completedAt: message.completedAt,
    finish: message.finish,
    error: message.error,
    tokens: message.tokens,
    cost: message.cost,
    parts,
    raw: message.raw,
  } satisfies Whole<Message>
}

/** A text or reasoning part with another text and status. */
export function withText(part: TextPart | ReasoningPart, text: string, status = part.status): TextPart | ReasoningPart {
  const { id, messageID, hole, raw } = part
  if (part.type === 'reasoning') return { id, messageID, status, hole, raw, type: 'reasoning', text }
  const { synthetic, ignored } = part
  return { id, messageID, status, hole, raw, type: 'text', text, synthetic, ignored }
}

/** The same part, closed. A call that had not ended is marked as interrupted; what its state was is kept. */
export function sealed(part: Part): Part {
  if (part.type !== 'tool' || part.state.status === 'completed' || part.state.status === 'error') {
    return { ...part, status: 'sealed' }
  }
  return { ...part, status: 'sealed', state: { ...part.state, interrupted: true } } satisfies ToolPart
}

export function replaceAt<T>(list: readonly T[], index: number, item: T): readonly T[] {
  const next = list.slice()
  next[index] = item
  return next
}
