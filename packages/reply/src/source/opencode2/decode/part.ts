import type * as z from 'zod/mini'
import type { DeltaEvent, MessageHead } from '../../../event.ts'
import { isFields } from '../../../fields.ts'
import type {
  AgentPart,
  FilePart,
  Part,
  PartStatus,
  ReasoningPart,
  ReplyFailure,
  ReplyFile,
  TextPart,
  Tokens,
  ToolPart,
  ToolState,
} from '../../../part.ts'
import type { Model } from '../../../reply.ts'
import { sentenceOf } from '../../../text/sentence.ts'
import { attachmentID, dataSize } from '../../decode/attachment.ts'
import { namedIfSent, sentFile } from '../../decode/sent-file.ts'
import type { Frame } from './frame.ts'
import type { errorSchema, modelSchema, tokensSchema, WireContent, WirePrompt } from './schema.ts'

/**
 * Builds parts and message fields. The wire has no part ids, so an id consists of the message, the kind, and the
 * ordinal or call.
 */

type Kind = 'text' | 'reasoning'

/** Returns the id of a text or thought, by its ordinal within the message's parts of that kind. */
export function textPartID(messageID: string, kind: Kind, ordinal: number): string {
  return `${messageID}.${kind}.${ordinal}`
}

/** Returns the id of a tool call's part. */
export function toolPartID(messageID: string, callID: string): string {
  return `${messageID}.tool.${callID}`
}

export interface TextFields {
  readonly messageID: string
  readonly kind: Kind
  readonly ordinal: number
  readonly text: string
  readonly status: PartStatus
  readonly raw: unknown
}

/** Builds the part of a text or thought. */
export function toTextPart({ messageID, kind, ordinal, text, status, raw }: TextFields): TextPart | ReasoningPart {
  const id = textPartID(messageID, kind, ordinal)
  // Literals, as in version 1 (see `reduce/shape.ts`).
  return kind === 'reasoning'
    ? { id, messageID, status, holes: undefined, raw, type: kind, text }
    : { id, messageID, status, holes: undefined, raw, type: kind, text, synthetic: undefined, ignored: undefined }
}

export interface ToolFields {
  readonly messageID: string
  readonly callID: string
  readonly tool: string
  readonly state: ToolState
  readonly raw: unknown
}

/** Builds the part of a tool call. It is sealed once the call has completed or failed. */
export function toToolPart({ messageID, callID, tool, state, raw }: ToolFields): ToolPart {
  const isOver = state.status === 'completed' || state.status === 'error'
  const status = isOver ? 'sealed' : 'open'
  return {
    id: toolPartID(messageID, callID),
    messageID,
    status,
    holes: undefined,
    raw,
    type: 'tool',
    tool,
    callID,
    state,
  }
}

/**
 * Returns the parts of a prompt: its text unless that is empty, then its files and the sub-agents that it names. A file has its own
 * address, else its source's, else its content as a `data:` URL. Without a type, it counts as bytes.
 */
export function toPromptParts(
  messageID: string,
  { text, files = [], agents = [] }: Pick<WirePrompt, 'text' | 'files' | 'agents'>,
): readonly (TextPart | FilePart | AgentPart)[] {
  const texts = text === undefined || text === '' ? [] : [toFirstText(messageID, text)]
  return [
    ...texts,
    ...files.map((file, at): FilePart => {
      const { mime = 'application/octet-stream', name, data } = file
      const url = file.uri ?? file.source?.uri ?? (data === undefined ? '' : `data:${mime};base64,${data}`)
      const filename = name ?? undefined
      return {
        id: `${messageID}.file.${at}`,
        messageID,
        status: 'sealed',
        raw: file,
        type: 'file',
        mime,
        url,
        filename,
        size: dataSize(url),
      }
    }),
    ...agents.map((agent, at): AgentPart => {
      return {
        id: `${messageID}.agent.${at}`,
        messageID,
        status: 'sealed',
        raw: agent,
        type: 'agent',
        name: agent.name,
      }
    }),
  ]
}

/** Builds the sealed text of a message that has one. */
function toFirstText(messageID: string, text: string): TextPart {
  return { id: `${messageID}.text.0`, messageID, status: 'sealed', raw: undefined, type: 'text', text }
}

/** Builds a text that the server itself adds for the model, for example the end of a background sub-agent. */
export function toSyntheticText(messageID: string, text: string): TextPart {
  return { ...toFirstText(messageID, text), synthetic: true }
}

/**
 * Whether the server informs the model about itself, for example that a person moved work to the background. Such a
 * message begins no run. Only the ends of background work do, and they name what ended.
 */
export function isServerNotice({ type, metadata }: { readonly type: string; readonly metadata?: unknown }): boolean {
  return type === 'synthetic' && !(isFields(metadata) && metadata.source !== undefined)
}

/**
 * Returns a step's usage as a part. Undefined if its cost or tokens are unknown. Replies add up their steps instead of
 * using the session's totals.
 */
export function toStepFinish(
  messageID: string,
  step: {
    readonly finish?: string | undefined
    readonly cost?: number | undefined
    readonly tokens?: Tokens | undefined
  },
): Part | undefined {
  const { finish, cost, tokens } = step
  if (cost === undefined || tokens === undefined) return undefined
  const id = `${messageID}.step`
  return { id, messageID, status: 'sealed', raw: undefined, type: 'step-finish', reason: finish, tokens, cost }
}

/** Converts a count of tokens. Absent numbers become 0. */
export function toTokens(wire: z.infer<typeof tokensSchema>): Tokens {
  const { input, output, reasoning = 0, cache } = wire
  return { input, output, reasoning, cacheRead: cache?.read ?? 0, cacheWrite: cache?.write ?? 0 }
}

/** Converts a model. Undefined without one. */
export function toModel(wire: z.infer<typeof modelSchema> | undefined): Model | undefined {
  return wire && { providerID: wire.providerID, modelID: wire.id }
}

/**
 * Converts an error, with its message as one sentence. An interrupted step gets the error name of version 1. Without a
 * type, it is an `UnknownError`.
 */
export function toFailure(wire: z.infer<typeof errorSchema> | undefined): ReplyFailure {
  const name = wire?.type === 'aborted' ? 'MessageAbortedError' : (wire?.type ?? 'UnknownError')
  return { name, message: sentenceOf(wire?.message ?? ''), statusCode: wire?.status, retryable: undefined, raw: wire }
}

/** Whether the error means that the step or call was interrupted. */
export function isAborted(wire: z.infer<typeof errorSchema> | null | undefined): boolean {
  return wire?.type === 'aborted'
}

/**
 * Whether a person rejected the call or dismissed its question, which only the error's message tells. The server then
 * ends the execution and reports a shutdown.
 */
export function isDeclined(wire: z.infer<typeof errorSchema> | null | undefined): boolean {
  return isAborted(wire) && /^The user (?:declined|dismissed)\b/.test(wire?.message ?? '')
}

/**
 * Returns the files of a call's output, in its order, else the one that `send_file` linked to. Undefined without any. Without
 * a type, a file counts as bytes.
 */
export function toAttachments(
  partID: string,
  { tool, input }: Pick<ToolFields, 'tool'> & Pick<ToolState, 'input'>,
  content: WireContent = [],
): readonly ReplyFile[] | undefined {
  const files = content.flatMap(({ type, uri, mime = 'application/octet-stream', name }) =>
    type === 'file' && uri !== undefined ? [{ mime, url: uri, filename: name ?? undefined, size: dataSize(uri) }] : [],
  )
  // The server makes a text of a link.
  const output = toOutputText(content)
  const sent = files.length === 0 ? sentFile(tool, input, output) : undefined
  const all = sent ? [sent] : namedIfSent(files, tool, input, output)
  return all.length === 0 ? undefined : all.map((file, at) => ({ id: attachmentID(partID, at), ...file }))
}

/** Returns the texts of a tool's output, joined by line breaks. Empty without texts. */
export function toOutputText(content: WireContent | undefined): string {
  return (content ?? []).flatMap(({ text }) => text ?? []).join('\n')
}

/**
 * Returns a call's metadata. Copies the `sessionID` of a sub-agent's call to its top level, because preview builds have
 * it in an inner `metadata`. Undefined if it is empty, as in REST's calls without metadata.
 */
export function toMetadata(
  metadata: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (metadata && Object.keys(metadata).length === 0) return undefined
  const inner = metadata?.metadata
  const isNested = typeof inner === 'object' && inner !== null && 'sessionID' in inner
  return isNested ? { ...metadata, sessionID: inner.sessionID } : metadata
}

/**
 * Builds a message without its parts. A single literal, because all messages go through the same code (see
 * `reduce/shape.ts`).
 */
export function toHead(
  id: string,
  role: MessageHead['role'],
  fields: Partial<Omit<MessageHead, 'id' | 'role' | 'summary' | 'output'>>,
): MessageHead {
  return {
    id,
    role,
    summary: false,
    parentID: fields.parentID,
    createdAt: fields.createdAt,
    completedAt: fields.completedAt,
    finish: fields.finish,
    error: fields.error,
    tokens: fields.tokens,
    cost: fields.cost,
    output: undefined,
    agent: fields.agent,
    model: fields.model,
    raw: fields.raw,
    endsRun: fields.endsRun,
  }
}

/** Converts the delta of a text or thought. Undefined for a malformed one and for all other frames. */
export function toDelta({ type, data }: Frame, at: number, raw: unknown): DeltaEvent | undefined {
  const kind = type === 'session.text.delta' ? 'text' : type === 'session.reasoning.delta' ? 'reasoning' : undefined
  if (kind === undefined) return undefined
  const { sessionID, assistantMessageID: messageID, ordinal, delta } = data
  if (typeof sessionID !== 'string' || typeof messageID !== 'string') return undefined
  if (typeof ordinal !== 'number' || typeof delta !== 'string') return undefined
  const partID = textPartID(messageID, kind, ordinal)
  return { type: 'delta', at, raw, sessionID, messageID, partID, field: 'text', delta }
}
