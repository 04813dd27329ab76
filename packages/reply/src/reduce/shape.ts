import type { Part, ReasoningPart, TextPart, ToolPart } from '../part.ts'
import type { Child, Message, Reply } from '../reply.ts'

/**
 * Every reply, message and streamed part is created by one object literal here, so that V8 gives all of a kind the same
 * hidden class: reading and copying them stays fast. On the hot path of a delta, object spread costs more than
 * everything else.
 */

/** Requires every key, including optional ones: a literal that omits a field doesn't compile. */
export type Whole<T> = { readonly [K in keyof Required<T>]: T[K] }

/** A new reply, with only its session known. */
export function emptyReply(sessionID: string): Reply {
  return {
    sessionID,
    directory: undefined,
    title: undefined,
    promptIDs: [],
    parkedPromptIDs: undefined,
    prompt: undefined,
    joinedPrompts: undefined,
    agent: undefined,
    model: undefined,
    phase: 'waiting',
    outcome: undefined,
    lostReason: undefined,
    finish: undefined,
    messages: [],
    asks: [],
    changes: undefined,
    children: [],
    todos: [],
    wroteTodos: undefined,
    summaries: undefined,
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
  return copyReply(reply, messages, reply.children)
}

export function withChildren(reply: Reply, children: readonly Child[]): Reply {
  return copyReply(reply, reply.messages, children)
}

/** Copies a reply with these fields. A field that is given as undefined is cleared. Not for the hot path of deltas. */
export function withFields(reply: Reply, fields: Partial<Reply>): Reply {
  return Object.assign(copyReply(reply, reply.messages, reply.children), fields)
}

/** Copies a reply with other messages and children. */
function copyReply(reply: Reply, messages: readonly Message[], children: readonly Child[]): Reply {
  return {
    sessionID: reply.sessionID,
    directory: reply.directory,
    title: reply.title,
    promptIDs: reply.promptIDs,
    parkedPromptIDs: reply.parkedPromptIDs,
    prompt: reply.prompt,
    joinedPrompts: reply.joinedPrompts,
    agent: reply.agent,
    model: reply.model,
    phase: reply.phase,
    outcome: reply.outcome,
    lostReason: reply.lostReason,
    finish: reply.finish,
    messages,
    asks: reply.asks,
    changes: reply.changes,
    children,
    todos: reply.todos,
    wroteTodos: reply.wroteTodos,
    summaries: reply.summaries,
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

/** Copies a message, or its head, with these parts. */
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
    output: message.output,
    parts,
    raw: message.raw,
  } satisfies Whole<Message>
}

/** Copies a text or reasoning part with a new text and status. */
export function withText(part: TextPart | ReasoningPart, text: string, status = part.status): TextPart | ReasoningPart {
  const { id, messageID, holes, raw } = part
  if (part.type === 'reasoning') return { id, messageID, status, holes, raw, type: 'reasoning', text }
  const { synthetic, ignored, stream } = part
  return { id, messageID, status, holes, raw, type: 'text', text, synthetic, ignored, stream }
}

/** Seals a part. Marks an unfinished call as interrupted, but keeps its status. Other parts keep everything else. */
export function sealed(part: Part): Part {
  if (part.type !== 'tool' || part.state.status === 'completed' || part.state.status === 'error') {
    return { ...part, status: 'sealed' }
  }
  return { ...part, status: 'sealed', state: { ...part.state, interrupted: true } } satisfies ToolPart
}

/** Returns a copy of the list with this item at the index. */
export function replaceAt<T>(list: readonly T[], index: number, item: T): readonly T[] {
  const next = list.slice()
  next[index] = item
  return next
}
