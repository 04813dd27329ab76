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

/** The messages that a client has. */
export interface ClientMessages {
  /** Their ids, in the client's order. */
  ids(): readonly string[]
  /** The ids of its thoughts. */
  thoughts(): readonly string[]
  /** Follows an event that the client gets. */
  note(event: AgUiEvent): void
}

/** The id of the message with the result of a call. */
export function resultIdOf(toolCallId: string): string {
  return `${toolCallId}.result`
}

/** Follows which messages a client has that begins with these. */
export function createClientMessages(initial: readonly AgUiMessage[]): ClientMessages {
  let kinds = kindsOf(initial)
  const add = (id: string, kind: MessageKind): void => {
    if (!kinds.has(id)) kinds.set(id, kind)
  }
  return {
    ids: () => [...kinds].flatMap(([id, kind]) => (kind === 'answered' ? [id, resultIdOf(id)] : [id])),
    thoughts: () => [...kinds].flatMap(([id, kind]) => (kind === 'reasoning' ? [id] : [])),
    note: (event) => {
      if (event.type === 'MESSAGES_SNAPSHOT') kinds = kindsOf(event.messages)
      else if (event.type === 'TEXT_MESSAGE_START') add(event.messageId, 'other')
      else if (event.type === 'REASONING_MESSAGE_START') add(event.messageId, 'reasoning')
      else if (event.type === 'TOOL_CALL_START') add(event.toolCallId, 'other')
      else if (event.type === 'TOOL_CALL_RESULT') kinds.set(event.toolCallId, 'answered')
      else if (event.type === 'ACTIVITY_SNAPSHOT') add(event.messageId, 'other')
    },
  }
}

/** `answered`: a call whose result is the next message. */
type MessageKind = 'reasoning' | 'answered' | 'other'

function kindsOf(messages: readonly AgUiMessage[]): Map<string, MessageKind> {
  return new Map(messages.map(({ id, role }) => [id, role === 'reasoning' ? role : 'other']))
}

/**
 * Returns the snapshots that make a client show exactly these messages, in this order. A client keeps the order of what it has
 * and appends the rest, so a message that belongs between others takes two snapshots: one that ends before it, and the whole.
 */
export function snapshotsOf(
  messages: readonly AgUiMessage[],
  client: ClientMessages,
): readonly AgUiEventOf<'MESSAGES_SNAPSHOT'>[] {
  const wanted = new Set(messages.map(({ id }) => id))
  const kept = client.ids().filter((id) => wanted.has(id))
  const inOrder = messages.findIndex(({ id }, index) => id !== kept[index])
  const whole = snapshotOf(withoutThoughts(messages, client))
  if (inOrder === -1 || inOrder >= kept.length) return [whole]
  return [snapshotOf(withoutThoughts(messages.slice(0, inOrder), client)), whole]
}

/** A client keeps all of its thoughts if a snapshot has none, so that one of them is emptied instead. */
function withoutThoughts(messages: readonly AgUiMessage[], client: ClientMessages): readonly AgUiMessage[] {
  const [thought] = client.thoughts()
  if (thought === undefined || messages.some(({ role }) => role === 'reasoning')) return messages
  return [...messages, { id: thought, role: 'reasoning', content: '' }]
}

function snapshotOf(messages: readonly AgUiMessage[]): AgUiEventOf<'MESSAGES_SNAPSHOT'> {
  // Read by @ag-ui/client, which otherwise keeps all activities if a snapshot has none.
  const metadata = { '@ag-ui/client': { authoritativeActivityTypes: activityTypes } }
  return { type: 'MESSAGES_SNAPSHOT', messages, metadata }
}
