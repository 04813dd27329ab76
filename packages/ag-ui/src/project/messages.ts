import type { AgUiEvent, AgUiEventOf, AgUiMessage } from '../event.ts'

/** Types of our activities. A snapshot says that it has all of these, so that a client drops those that it lacks. */
export const activityTypes = ['reply.todos', 'reply.file', 'reply.ask'] as const

/**
 * Returns the messages that a client has after these events, which begin without messages: texts, thoughts, calls with
 * their results, and activities.
 */
export function messagesOf(events: readonly AgUiEvent[]): readonly AgUiMessage[] {
  const messages = new Map<string, AgUiMessage>()
  /** Results by their calls, because each follows its call. */
  const results = new Map<string, AgUiMessage>()
  for (const event of events) {
    const attributed = 'subagentRunId' in event ? { subagentRunId: event.subagentRunId } : {}
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
        messages.set(event.messageId, { id: event.messageId, role: event.role, content: '', ...attributed })
        break
      case 'REASONING_MESSAGE_START':
        messages.set(event.messageId, { id: event.messageId, role: 'reasoning', content: '', ...attributed })
        break
      case 'TEXT_MESSAGE_CONTENT':
      case 'REASONING_MESSAGE_CONTENT':
        appendText(messages, event.messageId, event.delta)
        break
      case 'TOOL_CALL_START': {
        const call = { name: event.toolCallName, arguments: '' }
        const toolCalls = [{ id: event.toolCallId, type: 'function', function: call } as const]
        messages.set(event.toolCallId, { id: event.toolCallId, role: 'assistant', toolCalls, ...attributed })
        break
      }
      case 'TOOL_CALL_ARGS':
        appendArguments(messages, event.toolCallId, event.delta)
        break
      case 'TOOL_CALL_RESULT':
        results.set(event.toolCallId, { ...resultMessage(event), ...attributed })
        break
      case 'ACTIVITY_SNAPSHOT': {
        const { messageId: id, activityType, content } = event
        messages.set(id, { id, role: 'activity', activityType, content, ...attributed })
        break
      }
      default:
        break
    }
  }
  return [...messages.values()].flatMap((message) => {
    const result = results.get(message.id)
    return result ? [message, result] : [message]
  })
}

function appendText(messages: Map<string, AgUiMessage>, id: string, delta: string): void {
  const message = messages.get(id)
  if (message && message.role !== 'activity' && typeof message.content === 'string')
    messages.set(id, { ...message, content: message.content + delta })
}

function appendArguments(messages: Map<string, AgUiMessage>, id: string, delta: string): void {
  const message = messages.get(id)
  if (message?.role !== 'assistant') return
  const toolCalls = (message.toolCalls ?? []).map((call) => ({
    ...call,
    function: { ...call.function, arguments: call.function.arguments + delta },
  }))
  messages.set(id, { ...message, toolCalls })
}

/** The message of a result. It also has the error of a failed call, for which the event has no field. */
function resultMessage({ messageId, toolCallId, content, metadata }: AgUiEventOf<'TOOL_CALL_RESULT'>): AgUiMessage {
  const result = { id: messageId, role: 'tool', toolCallId, content, ...(metadata && { metadata }) } as const
  const { reply } = metadata ?? {}
  const isFailed = typeof reply === 'object' && reply !== null && 'status' in reply && reply.status !== 'completed'
  return isFailed ? { ...result, error: content } : result
}

/** The id of the message with the result of a call. */
export function resultIdOf(toolCallId: string): string {
  return `${toolCallId}.result`
}

/** A message that a client has. */
export type KnownMessage = Pick<AgUiMessage, 'id' | 'role'>

/** Returns the messages that a client has after these events. */
export function knownAfter(known: readonly KnownMessage[], events: readonly AgUiEvent[]): readonly KnownMessage[] {
  const all = [...known]
  const ids = new Set(known.map(({ id }) => id))
  for (const event of events) {
    const { id, role, after } = begunBy(event) ?? {}
    if (id === undefined || role === undefined || ids.has(id)) continue
    ids.add(id)
    const owner = all.findLastIndex((message) => message.id === after)
    if (owner === -1) all.push({ id, role })
    else all.splice(owner + 1, 0, { id, role })
  }
  return all
}

/** The message that an event begins, and the one that it follows if it isn't the last one. */
function begunBy(event: AgUiEvent): (KnownMessage & { readonly after?: string }) | undefined {
  switch (event.type) {
    case 'TEXT_MESSAGE_START':
    case 'REASONING_MESSAGE_START':
      return { id: event.messageId, role: event.role }
    case 'TOOL_CALL_START':
      return { id: event.toolCallId, role: 'assistant' }
    case 'TOOL_CALL_RESULT':
      return { id: event.messageId, role: event.role, after: event.toolCallId }
    case 'ACTIVITY_SNAPSHOT':
      return { id: event.messageId, role: 'activity' }
    default:
      return undefined
  }
}

/**
 * Returns the snapshots that make a client show exactly these messages, in this order. A client keeps the order of what it has
 * and appends the rest, so a message that belongs between others takes two snapshots: one that ends before it, and the whole.
 */
export function snapshotsOf(
  messages: readonly AgUiMessage[],
  known: readonly KnownMessage[],
): readonly AgUiEventOf<'MESSAGES_SNAPSHOT'>[] {
  const wanted = new Set(messages.map(({ id }) => id))
  const kept = known.filter(({ id }) => wanted.has(id))
  const inOrder = messages.findIndex(({ id }, index) => id !== kept[index]?.id)
  const whole = snapshotOf(withoutThoughts(messages, known))
  if (inOrder === -1 || inOrder >= kept.length) return [whole]
  return [snapshotOf(withoutThoughts(messages.slice(0, inOrder), known)), whole]
}

/** A client keeps all of its thoughts if a snapshot has none, so that one of them is emptied instead. */
function withoutThoughts(messages: readonly AgUiMessage[], known: readonly KnownMessage[]): readonly AgUiMessage[] {
  const thought = known.find(({ role }) => role === 'reasoning')
  if (thought === undefined || messages.some(({ role }) => role === 'reasoning')) return messages
  return [...messages, { id: thought.id, role: 'reasoning', content: '' }]
}

function snapshotOf(messages: readonly AgUiMessage[]): AgUiEventOf<'MESSAGES_SNAPSHOT'> {
  // Read by @ag-ui/client, which otherwise keeps all activities if a snapshot has none.
  const metadata = { '@ag-ui/client': { authoritativeActivityTypes: activityTypes } }
  return { type: 'MESSAGES_SNAPSHOT', messages, metadata }
}
