import type * as z from 'zod/mini'
import type { ReplyEvent } from '../../../event.ts'
import type { Part, ToolState } from '../../../part.ts'
import type { Call } from './memory.ts'
import { isAborted, isDeclined, outputOf, toMetadata, toTextPart, toToolPart } from './part.ts'
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

/** Texts, thoughts and tool calls. Several are open at once, and they end late. */
export const partReaders: Readers<PartType> = {
  'session.text.started': (data, context) => text('text', { ...data, text: '' }, 'open', context),
  'session.text.ended': (data, context) => text('text', data, 'sealed', context),
  'session.reasoning.started': (data, context) => text('reasoning', { ...data, text: '' }, 'open', context),
  'session.reasoning.ended': (data, context) => text('reasoning', data, 'sealed', context),
  'session.tool.input.started': ({ name, ...data }, context) =>
    call(data, { tool: name, input: {}, isCalled: false }, { status: 'pending' }, context),
  'session.tool.called': ({ input, ...data }, context) => {
    const known = callOf(data, context)
    const startedAt = context.frame.created
    return call(data, { ...known, input, isCalled: true, startedAt }, { status: 'running' }, context)
  },
  'session.tool.progress': ({ metadata, ...data }, context) => {
    const known = callOf(data, context)
    // A running call has its input, which a permission shows. If its beginning was missed, what it runs is unknown.
    const status = known.isCalled ? 'running' : 'pending'
    return call(data, { ...known, metadata: toMetadata(metadata) }, { status }, context)
  },
  'session.tool.success': ({ content, metadata, ...data }, context) => {
    const state = { status: 'completed', output: outputOf(content), metadata: toMetadata(metadata) } as const
    return call(data, callOf(data, context), { ...state, endedAt: context.frame.created }, context)
  },
  'session.tool.failed': ({ error, metadata, ...data }, context) => {
    const session = context.memory.of(data.sessionID)
    if (isDeclined(error)) session.isRejected = true
    const interruptedBy = isAborted(error) && !session.isRejected
    const state = { status: 'error', error: error?.message ?? '', metadata: toMetadata(metadata) } as const
    const rest = { endedAt: context.frame.created, ...(interruptedBy && { interrupted: true as const }) }
    return call(data, callOf(data, context), { ...state, ...rest }, context)
  },
}

function text(
  kind: 'text' | 'reasoning',
  data: z.infer<(typeof eventSchemas)['session.text.ended']>,
  status: Part['status'],
  { at, raw, frame }: Context,
): readonly ReplyEvent[] {
  const { sessionID, assistantMessageID: messageID, ordinal } = data
  const part = toTextPart({ messageID, kind, ordinal, text: data.text, status, raw: frame.data })
  return [{ type: 'part', at, raw, sessionID, part }]
}

interface CallPlace {
  readonly sessionID: string
  readonly assistantMessageID: string
  readonly id: string
}

function callOf({ sessionID, assistantMessageID, id }: CallPlace, { memory }: Context): Call {
  return (
    memory.of(sessionID).calls.get(`${assistantMessageID} ${id}`) ?? { tool: 'unknown', input: {}, isCalled: false }
  )
}

function call(
  { sessionID, assistantMessageID: messageID, id: callID }: CallPlace,
  known: Call,
  more: Partial<ToolState> & Pick<ToolState, 'status'>,
  { at, raw, frame, memory }: Context,
): readonly ReplyEvent[] {
  const { tool, input, metadata, startedAt } = known
  memory.of(sessionID).calls.set(`${messageID} ${callID}`, known)
  const state: ToolState = { input, startedAt, ...more, metadata: more.metadata ?? metadata }
  return [{ type: 'part', at, raw, sessionID, part: toToolPart({ messageID, callID, tool, state, raw: frame.data }) }]
}
