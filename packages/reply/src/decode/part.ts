import type { z } from 'zod'
import type { Part, PartStatus, ToolState } from '../part.ts'
import { toFailure } from './failure.ts'
import { toTokens } from './message.ts'
import { anyPartSchema, partSchemas } from './schema.ts'

type PartType = keyof typeof partSchemas
type Wire<T extends PartType> = z.infer<(typeof partSchemas)[T]>

/** A part of the wire in the model's shape, or what is wrong with it. A type that is not known becomes `unknown`. */
export function toPart(wire: unknown): { readonly part: Part; readonly sessionID: string } | z.ZodError {
  const any = anyPartSchema.safeParse(wire)
  if (!any.success) return any.error
  const { type, sessionID } = any.data
  if (!isKnown(type)) return { sessionID, part: { ...place(any.data, 'sealed', wire), type: 'unknown' } }
  const part = build(type, wire)
  return 'issues' in part ? part : { part, sessionID }
}

function isKnown(type: string): type is PartType {
  return Object.hasOwn(partSchemas, type)
}

function build(type: PartType, wire: unknown): Part | z.ZodError {
  const parsed = partSchemas[type].safeParse(wire)
  if (!parsed.success) return parsed.error
  switch (type) {
    case 'text':
      return toText(parsed.data as Wire<'text'>, wire)
    case 'reasoning': {
      const part = parsed.data as Wire<'reasoning'>
      return { ...place(part, statusOf(part.time), wire), type, text: part.text }
    }
    case 'tool':
      return toTool(parsed.data as Wire<'tool'>, wire)
    case 'file': {
      const part = parsed.data as Wire<'file'>
      return { ...place(part, 'sealed', wire), type, mime: part.mime, url: part.url, filename: part.filename }
    }
    case 'patch': {
      const part = parsed.data as Wire<'patch'>
      return { ...place(part, 'sealed', wire), type, hash: part.hash, files: part.files }
    }
    case 'step-start': {
      const part = parsed.data as Wire<'step-start'>
      return { ...place(part, 'sealed', wire), type, snapshot: part.snapshot }
    }
    case 'step-finish': {
      const part = parsed.data as Wire<'step-finish'>
      const tokens = toTokens(part.tokens)
      return { ...place(part, 'sealed', wire), type, reason: part.reason, tokens, cost: part.cost }
    }
    case 'snapshot': {
      const part = parsed.data as Wire<'snapshot'>
      return { ...place(part, 'sealed', wire), type, snapshot: part.snapshot }
    }
    case 'subtask': {
      const part = parsed.data as Wire<'subtask'>
      const { prompt, description, agent } = part
      return { ...place(part, 'sealed', wire), type, prompt, description, agent }
    }
    case 'agent': {
      const part = parsed.data as Wire<'agent'>
      return { ...place(part, 'sealed', wire), type, name: part.name }
    }
    case 'retry': {
      const part = parsed.data as Wire<'retry'>
      return { ...place(part, 'sealed', wire), type, attempt: part.attempt, error: toFailure(part.error) }
    }
    case 'compaction': {
      const part = parsed.data as Wire<'compaction'>
      return { ...place(part, 'sealed', wire), type, auto: part.auto }
    }
    default:
      return type satisfies never
  }
}

function place(part: { id: string; messageID: string }, status: PartStatus, raw: unknown) {
  return { id: part.id, messageID: part.messageID, status, hole: undefined, raw }
}

/** A text that carries no times at all was never streamed: it is whole. */
function statusOf(time: { start?: number | undefined; end?: number | undefined } | undefined): PartStatus {
  return time === undefined || time.end !== undefined ? 'sealed' : 'open'
}

function toText(part: Wire<'text'>, raw: unknown): Part {
  return {
    id: part.id,
    messageID: part.messageID,
    status: statusOf(part.time),
    hole: undefined,
    raw,
    type: 'text',
    text: part.text,
    synthetic: part.synthetic === true ? true : undefined,
    ignored: part.ignored === true ? true : undefined,
  }
}

function toTool(part: Wire<'tool'>, raw: unknown): Part {
  const { state } = part
  const ended = state.status === 'completed' || state.status === 'error'
  const input = state.input ?? {}
  return {
    ...place(part, ended ? 'sealed' : 'open', raw),
    type: 'tool',
    tool: part.tool === 'invalid' && typeof input.tool === 'string' ? input.tool : part.tool,
    callID: part.callID,
    state: toToolState(state, input),
  }
}

function toToolState(state: Wire<'tool'>['state'], input: Record<string, unknown>): ToolState {
  return {
    status: state.status,
    input,
    title: state.title,
    output: state.output,
    error: state.error,
    metadata: state.metadata,
    startedAt: state.time?.start,
    endedAt: state.time?.end,
    interrupted: state.metadata?.interrupted === true ? true : undefined,
  }
}
