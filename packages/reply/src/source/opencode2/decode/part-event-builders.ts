import type { ReplyEvent } from '../../../event.ts'
import type { ToolState } from '../../../part.ts'
import type { EventBuilders, ReceivedFrame } from './frame.ts'
import type { Call } from './memory.ts'
import { isAborted, isDeclined, type TextFields, toMetadata, toOutputText, toTextPart, toToolPart } from './part.ts'
import type { EventData } from './schema.ts'

type PartEventType =
  | 'session.text.started'
  | 'session.text.ended'
  | 'session.reasoning.started'
  | 'session.reasoning.ended'
  | 'session.tool.input.started'
  | 'session.tool.called'
  | 'session.tool.progress'
  | 'session.tool.success'
  | 'session.tool.failed'

/** Texts, thoughts and tool calls. Several may be open at once, and they may end late. */
export const partEventBuilders: EventBuilders<PartEventType> = {
  'session.text.started': (data, received) => textPartEvent('text', data, { text: '', status: 'open' }, received),
  'session.text.ended': (data, received) =>
    textPartEvent('text', data, { text: data.text, status: 'sealed' }, received),
  'session.reasoning.started': (data, received) =>
    textPartEvent('reasoning', data, { text: '', status: 'open' }, received),
  'session.reasoning.ended': (data, received) =>
    textPartEvent('reasoning', data, { text: data.text, status: 'sealed' }, received),
  'session.tool.input.started': (data, received) =>
    toolPartEvent(data, newCall(data.name), { status: 'pending' }, received),
  'session.tool.called': (data, received) => {
    const { tool, metadata } = storedCall(data, received)
    const startedAt = received.frame.created
    const called = { tool, input: data.input, isCalled: true, metadata, startedAt }
    return toolPartEvent(data, called, { status: 'running' }, received)
  },
  'session.tool.progress': (data, received) => {
    const { tool, input, isCalled, startedAt } = storedCall(data, received)
    const call = { tool, input, isCalled, metadata: toMetadata(data.metadata), startedAt }
    // A running call has its input, which a permission shows. If its beginning was missed, its input is unknown.
    return toolPartEvent(data, call, { status: isCalled ? 'running' : 'pending' }, received)
  },
  'session.tool.success': (data, received) => {
    const output = toOutputText(data.content)
    const metadata = toMetadata(data.metadata)
    const endedAt = received.frame.created
    return toolPartEvent(data, storedCall(data, received), { status: 'completed', output, metadata, endedAt }, received)
  },
  'session.tool.failed': (data, received) => {
    const { error } = data
    const session = received.memory.of(data.sessionID)
    if (isDeclined(error)) session.isRejected = true
    const isInterrupted = isAborted(error) && !session.isRejected
    const state: NewToolState = {
      status: 'error',
      error: error?.message ?? '',
      metadata: toMetadata(data.metadata),
      endedAt: received.frame.created,
      interrupted: isInterrupted ? true : undefined,
    }
    return toolPartEvent(data, storedCall(data, received), state, received)
  },
}

/** Returns the event of a text's or a thought's part. */
function textPartEvent(
  kind: 'text' | 'reasoning',
  { sessionID, assistantMessageID: messageID, ordinal }: EventData<'session.text.started'>,
  { text, status }: Pick<TextFields, 'text' | 'status'>,
  { at, raw, frame }: ReceivedFrame,
): readonly ReplyEvent[] {
  const part = toTextPart({ messageID, kind, ordinal, text, status, raw: frame.wire })
  return [{ type: 'part', at, raw, sessionID, part }]
}

/** The state of a call beside its input, tool and start. */
type NewToolState = Partial<ToolState> & Pick<ToolState, 'status'>

/** Where a call is: its session, its message and its id. */
interface CallPlace {
  readonly sessionID: string
  readonly assistantMessageID: string
  readonly id: string
}

/** Returns the stored call. One of the tool `unknown` if its beginning was missed. */
function storedCall({ sessionID, assistantMessageID, id }: CallPlace, { memory }: ReceivedFrame): Call {
  return memory.of(sessionID).calls.get(`${assistantMessageID} ${id}`) ?? newCall('unknown')
}

/** Returns a call of this tool whose input isn't complete. */
function newCall(tool: string): Call {
  return { tool, input: {}, isCalled: false, metadata: undefined, startedAt: undefined }
}

/**
 * Stores the call for later events, and returns the event of its part with this state. Without own metadata, the state
 * gets the call's.
 */
function toolPartEvent(
  { sessionID, assistantMessageID: messageID, id: callID }: CallPlace,
  call: Call,
  newState: NewToolState,
  { at, raw, frame, memory }: ReceivedFrame,
): readonly ReplyEvent[] {
  const { tool, input, metadata, startedAt } = call
  memory.of(sessionID).calls.set(`${messageID} ${callID}`, call)
  const { status, output, error, endedAt, interrupted } = newState
  const state: ToolState = {
    status,
    input,
    title: undefined,
    output,
    error,
    metadata: newState.metadata ?? metadata,
    startedAt,
    endedAt,
    interrupted,
  }
  return [{ type: 'part', at, raw, sessionID, part: toToolPart({ messageID, callID, tool, state, raw: frame.wire }) }]
}
