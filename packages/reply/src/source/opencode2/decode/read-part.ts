import type * as z from 'zod/mini'
import type { ReplyEvent } from '../../../event.ts'
import type { ToolState } from '../../../part.ts'
import type { Call } from './memory.ts'
import { isAborted, isDeclined, outputOf, type TextFields, toMetadata, toTextPart, toToolPart } from './part.ts'
import type { Context, Readers } from './reader.ts'
import type { eventSchemas } from './schema.ts'

type PartType =
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
export const partReaders: Readers<PartType> = {
  'session.text.started': (data, context) => text('text', data, { text: '', status: 'open' }, context),
  'session.text.ended': (data, context) => text('text', data, { text: data.text, status: 'sealed' }, context),
  'session.reasoning.started': (data, context) => text('reasoning', data, { text: '', status: 'open' }, context),
  'session.reasoning.ended': (data, context) => text('reasoning', data, { text: data.text, status: 'sealed' }, context),
  'session.tool.input.started': (data, context) => call(data, unknownCall(data.name), { status: 'pending' }, context),
  'session.tool.called': (data, context) => {
    const { tool, metadata } = callOf(data, context)
    const startedAt = context.frame.created
    const called = { tool, input: data.input, isCalled: true, metadata, startedAt }
    return call(data, called, { status: 'running' }, context)
  },
  'session.tool.progress': (data, context) => {
    const { tool, input, isCalled, startedAt } = callOf(data, context)
    const known = { tool, input, isCalled, metadata: toMetadata(data.metadata), startedAt }
    // A running call has its input, which a permission shows. If its beginning was missed, its input is unknown.
    return call(data, known, { status: isCalled ? 'running' : 'pending' }, context)
  },
  'session.tool.success': (data, context) => {
    const output = outputOf(data.content)
    const metadata = toMetadata(data.metadata)
    const endedAt = context.frame.created
    return call(data, callOf(data, context), { status: 'completed', output, metadata, endedAt }, context)
  },
  'session.tool.failed': (data, context) => {
    const { error } = data
    const session = context.memory.of(data.sessionID)
    if (isDeclined(error)) session.isRejected = true
    const interruptedBy = isAborted(error) && !session.isRejected
    const state: MoreState = {
      status: 'error',
      error: error?.message ?? '',
      metadata: toMetadata(data.metadata),
      endedAt: context.frame.created,
      interrupted: interruptedBy ? true : undefined,
    }
    return call(data, callOf(data, context), state, context)
  },
}

function text(
  kind: 'text' | 'reasoning',
  { sessionID, assistantMessageID: messageID, ordinal }: z.infer<(typeof eventSchemas)['session.text.started']>,
  { text, status }: Pick<TextFields, 'text' | 'status'>,
  { at, raw, frame }: Context,
): readonly ReplyEvent[] {
  const part = toTextPart({ messageID, kind, ordinal, text, status, raw: frame.wire })
  return [{ type: 'part', at, raw, sessionID, part }]
}

type MoreState = Partial<ToolState> & Pick<ToolState, 'status'>

interface CallPlace {
  readonly sessionID: string
  readonly assistantMessageID: string
  readonly id: string
}

function callOf({ sessionID, assistantMessageID, id }: CallPlace, { memory }: Context): Call {
  return memory.of(sessionID).calls.get(`${assistantMessageID} ${id}`) ?? unknownCall('unknown')
}

function unknownCall(tool: string): Call {
  return { tool, input: {}, isCalled: false, metadata: undefined, startedAt: undefined }
}

function call(
  { sessionID, assistantMessageID: messageID, id: callID }: CallPlace,
  known: Call,
  more: MoreState,
  { at, raw, frame, memory }: Context,
): readonly ReplyEvent[] {
  const { tool, input, metadata, startedAt } = known
  memory.of(sessionID).calls.set(`${messageID} ${callID}`, known)
  const { status, output, error, endedAt, interrupted } = more
  const state: ToolState = {
    status,
    input,
    title: undefined,
    output,
    error,
    metadata: more.metadata ?? metadata,
    startedAt,
    endedAt,
    interrupted,
  }
  return [{ type: 'part', at, raw, sessionID, part: toToolPart({ messageID, callID, tool, state, raw: frame.wire }) }]
}
