import type * as z from 'zod/mini'
import type { Part, PartStatus, ReplyFile, ToolState } from '../../../part.ts'
import { attachmentID, dataSize } from '../../decode/attachment.ts'
import { checkOf, inEnglish } from '../../decode/check.ts'
import { toFailure, toTokens } from './message.ts'
import { anyPartSchema, linkedFileSchema, partSchemas } from './schema.ts'

type PartType = keyof typeof partSchemas
type Wire<T extends PartType> = z.infer<(typeof partSchemas)[T]>
type Builders = { readonly [T in PartType]: (wire: Wire<T>, raw: unknown) => Part }

type PartReader = (wire: unknown) => PartRead | z.core.$ZodError
interface PartRead {
  readonly part: Part
  readonly sessionID: string
}

/**
 * Converts a wire part to the model, or returns the validation error. A part of an unknown type becomes one of the type
 * `unknown` if it has ids.
 */
export function toPart(wire: unknown): PartRead | z.core.$ZodError {
  const { type } = (wire ?? {}) as { readonly type?: unknown }
  const read = typeof type === 'string' ? partReaders.get(type) : undefined
  return (read ?? toUnknownPart)(wire)
}

/** Converts a part of any type to one of the type `unknown`. Returns the validation error if an id is missing. */
function toUnknownPart(wire: unknown): PartRead | z.core.$ZodError {
  const any = anyPartSchema.safeParse(wire, inEnglish)
  return any.success
    ? { sessionID: any.data.sessionID, part: { ...sealedFields(any.data, wire), type: 'unknown' } }
    : any.error
}

/** The streamed types are frequent, so each is a single literal (see `reduce/shape.ts`). */
const partBuilders: Builders = {
  text: toText,
  reasoning: ({ id, messageID, time, text }, raw) => ({
    id,
    messageID,
    status: statusOfText(time),
    holes: undefined,
    raw,
    type: 'reasoning',
    text,
  }),
  tool: toTool,
  'step-start': ({ id, messageID, snapshot }, raw) => {
    return { id, messageID, status: 'sealed', holes: undefined, raw, type: 'step-start', snapshot }
  },
  'step-finish': ({ id, messageID, reason, tokens: spent, cost }, raw) => {
    const tokens = toTokens(spent)
    return { id, messageID, status: 'sealed', holes: undefined, raw, type: 'step-finish', reason, tokens, cost }
  },
  file: (wire, raw) => ({
    ...sealedFields(wire, raw),
    type: 'file',
    mime: wire.mime,
    url: wire.url,
    filename: wire.filename,
    size: dataSize(wire.url),
  }),
  patch: (wire, raw) => ({ ...sealedFields(wire, raw), type: 'patch', hash: wire.hash, files: wire.files }),
  snapshot: (wire, raw) => ({ ...sealedFields(wire, raw), type: 'snapshot', snapshot: wire.snapshot }),
  subtask: (wire, raw) => {
    const { prompt, description, agent } = wire
    return { ...sealedFields(wire, raw), type: 'subtask', prompt, description, agent }
  },
  agent: (wire, raw) => ({ ...sealedFields(wire, raw), type: 'agent', name: wire.name }),
  retry: (wire, raw) => ({
    ...sealedFields(wire, raw),
    type: 'retry',
    attempt: wire.attempt,
    error: toFailure(wire.error),
  }),
  compaction: (wire, raw) => ({ ...sealedFields(wire, raw), type: 'compaction', auto: wire.auto }),
}

/** Returns the common fields of a part that is never streamed, so it arrives sealed. */
function sealedFields({ id, messageID }: { readonly id: string; readonly messageID: string }, raw: unknown) {
  return { id, messageID, status: 'sealed', holes: undefined, raw } as const
}

/** Returns `open` for a text that has begun but not ended. A text without times was never streamed, so it is sealed. */
function statusOfText(time: { start?: number | undefined; end?: number | undefined } | undefined): PartStatus {
  return time === undefined || time.end !== undefined ? 'sealed' : 'open'
}

/** Converts a text. Flags that are not true are absent. */
function toText(wire: Wire<'text'>, raw: unknown): Part {
  return {
    id: wire.id,
    messageID: wire.messageID,
    status: statusOfText(wire.time),
    holes: undefined,
    raw,
    type: 'text',
    text: wire.text,
    synthetic: wire.synthetic === true ? true : undefined,
    ignored: wire.ignored === true ? true : undefined,
  }
}

/**
 * Converts a tool call. It is sealed once it has completed or failed. Without an input, that is empty. A call that the
 * server replaced by `invalid` gets the name of the tool that the model called.
 */
function toTool(wire: Wire<'tool'>, raw: unknown): Part {
  const { state } = wire
  const isOver = state.status === 'completed' || state.status === 'error'
  const input = state.input ?? {}
  return {
    id: wire.id,
    messageID: wire.messageID,
    status: isOver ? 'sealed' : 'open',
    holes: undefined,
    raw,
    type: 'tool',
    tool: wire.tool === 'invalid' && typeof input.tool === 'string' ? input.tool : wire.tool,
    callID: wire.callID,
    state: toToolState(wire, input),
  }
}

/** Converts the state of a tool call, with this input. It is interrupted if its metadata says so. */
function toToolState({ id, state }: Wire<'tool'>, input: Record<string, unknown>): ToolState {
  return {
    status: state.status,
    input,
    title: state.title,
    output: state.output,
    attachments: toAttachments(id, state),
    error: state.error,
    metadata: state.metadata,
    startedAt: state.time?.start,
    endedAt: state.time?.end,
    interrupted: state.metadata?.interrupted === true ? true : undefined,
  }
}

/** Converts the files of a call, then those in its metadata. Undefined without any. */
function toAttachments(
  partID: string,
  { attachments = [], metadata }: Wire<'tool'>['state'],
): readonly ReplyFile[] | undefined {
  const linked = Array.isArray(metadata?.attachments) ? metadata.attachments.flatMap(linkedFiles) : []
  if (attachments.length + linked.length === 0) return undefined
  const own = attachments.map(({ mime, url, filename }) => ({ mime, url, filename, size: dataSize(url) }))
  return [...own, ...linked].map((file, at) => ({ id: attachmentID(partID, at), ...file }))
}

/** Returns the file as a list. Empty if it is malformed. */
function linkedFiles(value: unknown): readonly Omit<ReplyFile, 'id'>[] {
  const { data } = linkedFileSchema.safeParse(value, inEnglish)
  if (!data) return []
  const { mime, url, filename, size = dataSize(url), caption } = data
  return [{ mime, url, filename, size, caption }]
}

const partReaders: ReadonlyMap<string, PartReader> = new Map(
  (Object.keys(partSchemas) as PartType[]).map((type) => [type, partReaderOf(type)]),
)

/** Returns the reader of one type of part. It returns the validation error if the part doesn't fit the schema. */
function partReaderOf<T extends PartType>(type: T): PartReader {
  const schema = partSchemas[type]
  const isValid = checkOf(schema)
  const build = partBuilders[type]
  return (wire) => {
    // No part schema transforms its input, so the part is built from the object that the source sent.
    const error = isValid(wire) ? undefined : schema.safeParse(wire, inEnglish).error
    if (error) return error
    const fitting = wire as Wire<T>
    return { part: build(fitting, wire), sessionID: fitting.sessionID }
  }
}
