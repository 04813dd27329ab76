import type { ReplyEvent } from '../../../event.ts'
import type { ToolState } from '../../../part.ts'
import type { EventBuilders, ReceivedFrame } from './frame.ts'
import type { Call } from './memory.ts'
import {
  isAborted,
  isDeclined,
  type TextFields,
  toAttachments,
  toMetadata,
  toOutputText,
  toolPartID,
  toTextPart,
  toToolPart,
} from './part.ts'
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

/**
 * The builders of the events of texts, thoughts and tool calls. Several of these may be open at once, and they may end
 * late.
 */
export const partEventBuilders: EventBuilders<PartEventType> = {
  'session.text.started': (data, received) => textPartEvent('text', data, { text: '', status: 'open' }, received),
  'session.text.ended': (data, received) =>
    textPartEvent('text', data, { text: data.text, status: 'sealed' }, received),
  'session.reasoning.started': (data, received) =>
    textPartEvent('reasoning', data, { text: '', status: 'open' }, received),
  'session.reasoning.ended': (data, received) =>
    textPartEvent('reasoning', data, { text: data.text, status: 'sealed' }, received),
  /** Returns a pending call of this tool. Its input is empty until it is complete. */
  'session.tool.input.started': (data, received) =>
    toolPartEvent(data, newCall(data.name), { status: 'pending' }, received),
  /** Returns the running call with its input. Its tool is `unknown` if its beginning was missed. */
  'session.tool.called': (data, received) => {
    const { tool, metadata } = storedCall(data, received)
    const startedAt = received.frame.created
    const called = { tool, input: data.input, isCalled: true, metadata, startedAt }
    return toolPartEvent(data, called, { status: 'running' }, received)
  },
  /** Returns the call with new metadata: running if its input is known, or else pending. */
  'session.tool.progress': (data, received) => {
    const { tool, input, isCalled, startedAt } = storedCall(data, received)
    const call = { tool, input, isCalled, metadata: toMetadata(data.metadata), startedAt }
    // A permission shows the input of a running call.
    return toolPartEvent(data, call, { status: isCalled ? 'running' : 'pending' }, received)
  },
  /** Returns the completed call with its output and files. */
  'session.tool.success': (data, received) => {
    const call = storedCall(data, received)
    const state: NewToolState = {
      status: 'completed',
      output: toOutputText(data.content),
      attachments: toAttachments(toolPartID(data.assistantMessageID, data.id), call, data.content),
      metadata: toMetadata(data.metadata),
      endedAt: received.frame.created,
    }
    return toolPartEvent(data, call, state, received)
  },
  /**
   * Returns the failed call, and stores whether a person rejected it. It counts as interrupted if it was aborted and
   * nothing was rejected in this step.
   */
  'session.tool.failed': (data, received) => {
    const { error } = data
    const session = received.memory.of(data.sessionID)
    if (isDeclined(error)) session.isRejected = true
    const isInterrupted = isAborted(error) && !session.isRejected
    const call = storedCall(data, received)
    const state: NewToolState = {
      status: 'error',
      error: error?.message ?? '',
      attachments: toAttachments(toolPartID(data.assistantMessageID, data.id), call, data.content),
      metadata: toMetadata(data.metadata),
      endedAt: received.frame.created,
      interrupted: isInterrupted ? true : undefined,
    }
    return toolPartEvent(data, call, state, received)
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
  const { status, output, attachments, error, endedAt, interrupted } = newState
  const state: ToolState = {
    status,
    input,
    title: undefined,
    output,
    attachments,
    error,
    metadata: newState.metadata ?? metadata,
    startedAt,
    endedAt,
    interrupted,
  }
  return [{ type: 'part', at, raw, sessionID, part: toToolPart({ messageID, callID, tool, state, raw: frame.wire }) }]
}
