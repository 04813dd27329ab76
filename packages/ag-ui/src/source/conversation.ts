import type { SnapshotMessage } from './decode/event.ts'

/** A message as it is sent to the agent: our own, or one from a snapshot of the agent. */
export type SentMessage = Readonly<Record<string, unknown>> & { readonly id: string; readonly role: string }

/** A call in a message of ours. */
interface OwnCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { name: string; arguments: string }
}

/** A message that grows with the agent's events. */
interface OwnMessage {
  readonly id: string
  readonly role: string
  content?: unknown
  toolCalls?: OwnCall[]
  readonly toolCallId?: string
}

/**
 * The messages of one thread. An AG-UI agent gets the whole conversation with each run, so that it need not keep any. Costs as much
 * memory as what was said.
 */
export interface Conversation {
  /** Adds a person's message. */
  prompt(id: string, content: unknown): void
  /** Appends to a text of the agent. */
  say(id: string, delta: string): void
  /** Begins a call, in the message with this id if there is one. Begins one without a result anew. */
  call(id: string, name: string, messageID: string | undefined): void
  /** Appends to the arguments of a call. */
  args(id: string, delta: string): void
  /** Adds the result of a call. */
  result(callID: string, messageID: string | undefined, content: string): void
  /** Replaces all messages by those of a snapshot. */
  replace(messages: readonly SnapshotMessage[]): void
  /** Whether there is a message with this id. */
  has(id: string): boolean
  /**
   * Removes calls without a result, and messages that are empty then. Call it before a new prompt: a model provider refuses a
   * conversation in which a call has no result.
   */
  dropOpenCalls(): void
  /** Removes the message with this id, for a prompt that was not sent. */
  remove(id: string): void
  /** The messages, in order, for a request. Later calls don't change them. */
  messages(): readonly unknown[]
}

/** Creates an empty conversation. */
export function createConversation(): Conversation {
  let messages: (OwnMessage | SentMessage)[] = []
  /** The messages of ours by their ids, and those with each call. */
  const own = new Map<string, OwnMessage>()
  const calls = new Map<string, OwnCall>()
  const ids = new Set<string>()
  /** Calls whose result is known. */
  const answered = new Set<string>()
  return {
    prompt: (id, content) => void add({ id, role: 'user', content }),
    say: (id, delta) => {
      const message = own.get(id)
      if (message?.role === 'assistant') message.content = `${message.content ?? ''}${delta}`
      // A message of a snapshot is whole.
      else if (!ids.has(id)) add({ id, role: 'assistant', content: delta })
    },
    call: (id, name, messageID) => {
      const known = calls.get(id)
      if (known) {
        if (!answered.has(id)) Object.assign(known.function, { name, arguments: '' })
        return
      }
      const call: OwnCall = { id, type: 'function', function: { name, arguments: '' } }
      calls.set(id, call)
      const last = messages.at(-1)
      const holder = (messageID === undefined ? undefined : own.get(messageID)) ?? (last && own.get(last.id))
      if (holder?.role === 'assistant') holder.toolCalls = [...(holder.toolCalls ?? []), call]
      else add({ id: freeID(messageID ?? `call-${id}`), role: 'assistant', toolCalls: [call] })
    },
    args: (id, delta) => {
      const call = calls.get(id)
      if (call) call.function.arguments += delta
    },
    result: (callID, messageID, content) => {
      if (answered.has(callID)) return
      answered.add(callID)
      // TanStack AI gives a result the id of the message that made the call.
      add({ id: freeID(messageID ?? `result-${callID}`), role: 'tool', toolCallId: callID, content })
    },
    replace: (snapshot) => {
      own.clear()
      calls.clear()
      ids.clear()
      answered.clear()
      messages = []
      for (const { id, role, raw, calls: made, toolCallID } of snapshot) {
        if (typeof raw === 'object' && raw !== null) messages.push({ ...raw, id, role })
        ids.add(id)
        for (const { id: callID, name, args } of made)
          calls.set(callID, { id: callID, type: 'function', function: { name, arguments: args } })
        if (toolCallID !== undefined) answered.add(toolCallID)
      }
    },
    has: (id) => ids.has(id),
    dropOpenCalls: () => {
      messages = messages.flatMap((message) => withoutOpenCalls(message))
    },
    remove: (id) => {
      messages = messages.filter((message) => message.id !== id)
      own.delete(id)
      ids.delete(id)
    },
    messages: () => messages.map((message) => copyOf(own.get(message.id) ?? message)),
  }

  function add(message: OwnMessage): void {
    messages.push(message)
    own.set(message.id, message)
    ids.add(message.id)
  }

  /** Returns the id, or another one if a message has it. */
  function freeID(id: string): string {
    return ids.has(id) ? `${id}-${messages.length}` : id
  }

  /** Returns the message without its calls that have no result. Nothing if it is empty then. */
  function withoutOpenCalls(message: OwnMessage | SentMessage): readonly (OwnMessage | SentMessage)[] {
    const { toolCalls } = message
    if (!Array.isArray(toolCalls)) return [message]
    const closed = toolCalls.filter((call: { readonly id?: unknown }) => answered.has(String(call.id)))
    if (closed.length === toolCalls.length) return [message]
    if (closed.length === 0 && (message.content === undefined || message.content === '')) return []
    const { toolCalls: _, ...rest } = message
    const changed = closed.length === 0 ? rest : { ...rest, toolCalls: closed }
    if (own.has(message.id)) own.set(message.id, changed)
    return [changed]
  }
}

/** Returns a message that does not grow. Those of a snapshot never do. */
function copyOf(message: OwnMessage | SentMessage): unknown {
  const { toolCalls } = message
  if (!Array.isArray(toolCalls)) return { ...message }
  return { ...message, toolCalls: toolCalls.map((call) => ({ ...call, function: { ...call.function } })) }
}
