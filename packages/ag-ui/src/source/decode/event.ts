import type { Todo } from '@reply/core'
import type { LocalFile } from '@reply/core/source'
import * as z from 'zod'

/** Tokens of one model in a run, as AG-UI counts them: the details are part of the totals. */
export interface WireUsage {
  readonly input: number
  readonly output: number
  readonly reasoning: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/** What a run needs from a person before it goes on. */
export interface Interrupt {
  readonly id: string
  readonly reason: string
  readonly message: string | undefined
  readonly toolCallID: string | undefined
  readonly subagentID: string | undefined
  /** The JSON Schema of the answer. Undefined if the agent names none. */
  readonly schema: Readonly<Record<string, unknown>> | undefined
  readonly metadata: Readonly<Record<string, unknown>>
  /** What the agent's framework asked with, unread. Undefined if it isn't passed on. */
  readonly value: unknown
  /** Whether it came as a custom event, as before version 1.0, so that its answer goes the old way, too. */
  readonly isCustom: boolean
}

/** A tool call in a message of a snapshot. */
export interface SnapshotCall {
  readonly id: string
  readonly name: string
  /** The arguments, usually JSON. */
  readonly args: string
}

/** A message of a snapshot. `raw` is sent back to the agent as it is. */
export interface SnapshotMessage {
  readonly id: string
  readonly role: string
  readonly text: string
  readonly calls: readonly SnapshotCall[]
  /** Set for the result of a call. */
  readonly toolCallID: string | undefined
  readonly error: string | undefined
  readonly isInterrupted: boolean
  readonly files: readonly LocalFile[]
  readonly subagentID: string | undefined
  readonly raw: unknown
}

/** A run's end without a failure. */
export type WireOutcome =
  | { readonly type: 'success' }
  | { readonly type: 'cancelled' }
  | { readonly type: 'interrupt'; readonly interrupts: readonly Interrupt[] }

/** One event of an agent. Without an id, it belongs to the message or call that is open. */
export type WireEvent = { readonly subagentID: string | undefined; readonly raw: unknown } & (
  | { readonly type: 'run-started' }
  | { readonly type: 'step' }
  /** Begins or continues a text. `role` is only known at its beginning. */
  | {
      readonly type: 'text'
      readonly kind: 'text' | 'reasoning'
      readonly id: string | undefined
      readonly role: string | undefined
      readonly delta: string
      readonly begins: boolean
    }
  | { readonly type: 'text-end'; readonly kind: 'text' | 'reasoning'; readonly id: string | undefined }
  /** Begins a call, or continues its arguments. A chunk does both, and needs no end. */
  | {
      readonly type: 'call'
      readonly id: string | undefined
      readonly name: string | undefined
      readonly parentID: string | undefined
      readonly delta: string
      readonly isChunk: boolean
    }
  | { readonly type: 'call-end'; readonly id: string | undefined }
  | {
      readonly type: 'result'
      readonly id: string | undefined
      readonly messageID: string | undefined
      readonly text: string
      readonly files: readonly LocalFile[]
      /** Why the call failed. Undefined for one that returned. */
      readonly error: string | undefined
      /** Whether the run ended before the call did. */
      readonly isInterrupted: boolean
    }
  | {
      readonly type: 'subagent'
      readonly id: string
      readonly name: string | undefined
      readonly description: string | undefined
      readonly callID: string | undefined
      readonly parentID: string | undefined
    }
  | {
      readonly type: 'subagent-end'
      readonly id: string
      readonly how: 'success' | 'suspended' | { readonly message: string; readonly code: string | undefined }
    }
  /** The content of an activity, for example a checklist, and a change of it. */
  | { readonly type: 'activity'; readonly id: string; readonly content: unknown }
  | { readonly type: 'activity-patch'; readonly id: string; readonly patch: readonly unknown[] }
  | { readonly type: 'snapshot'; readonly messages: readonly SnapshotMessage[] }
  | { readonly type: 'state'; readonly state: unknown }
  | { readonly type: 'state-patch'; readonly patch: readonly unknown[] }
  | { readonly type: 'finished'; readonly outcome: WireOutcome; readonly usage: readonly WireUsage[] }
  | {
      readonly type: 'failed'
      readonly message: string
      readonly code: string | undefined
      readonly usage: readonly WireUsage[]
    }
  /** An interrupt as LangGraph and Mastra send it beside the outcome, or without one. */
  | { readonly type: 'custom-interrupt'; readonly interrupt: Interrupt }
  /** Has no place in a reply. */
  | { readonly type: 'other' }
  /** Of no kind that the protocol has. */
  | { readonly type: 'unknown'; readonly name: string }
)

/** A string that is not empty. Undefined for anything else, because producers also send `null` and "". */
const text = z.string().min(1).optional().catch(undefined)
const record = z.record(z.string(), z.unknown()).optional().catch(undefined)
const list = z.array(z.unknown()).catch([])

/** The fields of all events. A field with another type counts as absent, because an event is worth more than one field. */
const frameSchema = z.looseObject({
  type: z.string(),
  messageId: text,
  role: text,
  delta: z.unknown().optional(),
  toolCallId: text,
  toolCallName: text,
  parentMessageId: text,
  content: z.unknown().optional(),
  error: text,
  metadata: record,
  subagentRunId: text,
  parentSubagentRunId: text,
  parentToolCallId: text,
  name: text,
  description: text,
  patch: z.unknown().optional(),
  messages: z.unknown().optional(),
  snapshot: z.unknown().optional(),
  value: z.unknown().optional(),
  outcome: record,
  usage: z.unknown().optional(),
  message: text,
  code: text,
})

type Frame = z.infer<typeof frameSchema>

/** Events that have no place in a reply. `onEvent` gets them as it gets all others. */
const others: ReadonlySet<string> = new Set([
  ...['RAW', 'STEP_FINISHED', 'REASONING_ENCRYPTED_VALUE'],
  ...['REASONING_START', 'REASONING_END', 'THINKING_START', 'THINKING_END'],
])

/** Reads one event. Undefined for a value that is not an object with a `type`. Never throws. */
export function toWireEvent(raw: unknown): WireEvent | undefined {
  const parsed = frameSchema.safeParse(raw)
  if (!parsed.success) return undefined
  const frame = parsed.data
  return { ...eventOf(frame), subagentID: frame.subagentRunId, raw }
}

/** Omits the fields that all events have, for each event of the union. */
type EventContent = WireEvent extends infer E
  ? E extends WireEvent
    ? Omit<E, 'subagentID' | 'raw'> & { readonly type: E['type'] }
    : never
  : never

/** Returns the event of a frame. Names before version 1.0 of the protocol are read, too. */
function eventOf(frame: Frame): EventContent {
  const { messageId: id, role, toolCallId, metadata } = frame
  const delta = typeof frame.delta === 'string' ? frame.delta : ''
  switch (frame.type) {
    case 'RUN_STARTED':
      return { type: 'run-started' }
    case 'STEP_STARTED':
      return { type: 'step' }
    case 'TEXT_MESSAGE_START':
      return { type: 'text', kind: 'text', id, role, delta: '', begins: true }
    case 'TEXT_MESSAGE_CONTENT':
    case 'TEXT_MESSAGE_CHUNK':
      return { type: 'text', kind: 'text', id, role, delta, begins: false }
    case 'TEXT_MESSAGE_END':
      return { type: 'text-end', kind: 'text', id }
    case 'REASONING_MESSAGE_START':
    case 'THINKING_TEXT_MESSAGE_START':
      return { type: 'text', kind: 'reasoning', id, role: undefined, delta: '', begins: true }
    case 'REASONING_MESSAGE_CONTENT':
    case 'REASONING_MESSAGE_CHUNK':
    case 'THINKING_TEXT_MESSAGE_CONTENT':
      return { type: 'text', kind: 'reasoning', id, role: undefined, delta, begins: false }
    case 'REASONING_MESSAGE_END':
    case 'THINKING_TEXT_MESSAGE_END':
      return { type: 'text-end', kind: 'reasoning', id }
    case 'TOOL_CALL_START':
    case 'TOOL_CALL_ARGS':
    case 'TOOL_CALL_CHUNK': {
      const { toolCallName: name, parentMessageId: parentID } = frame
      return { type: 'call', id: toolCallId, name, parentID, delta, isChunk: frame.type === 'TOOL_CALL_CHUNK' }
    }
    case 'TOOL_CALL_END':
      return { type: 'call-end', id: toolCallId }
    case 'TOOL_CALL_RESULT':
      return { type: 'result', id: toolCallId, messageID: id, ...resultOf(frame.content, frame.error, metadata) }
    case 'SUBAGENT_STARTED': {
      const { subagentRunId, name, description, parentToolCallId, parentSubagentRunId } = frame
      if (subagentRunId === undefined) return { type: 'other' }
      const parentID = parentSubagentRunId
      return { type: 'subagent', id: subagentRunId, name, description, callID: parentToolCallId, parentID }
    }
    case 'SUBAGENT_FINISHED': {
      if (frame.subagentRunId === undefined) return { type: 'other' }
      const how = frame.outcome?.type === 'suspended' ? 'suspended' : 'success'
      return { type: 'subagent-end', id: frame.subagentRunId, how }
    }
    case 'SUBAGENT_ERROR': {
      if (frame.subagentRunId === undefined) return { type: 'other' }
      const { message = 'The sub-agent failed.', code } = frame
      return { type: 'subagent-end', id: frame.subagentRunId, how: { message, code } }
    }
    case 'ACTIVITY_SNAPSHOT':
      return id === undefined ? { type: 'other' } : { type: 'activity', id, content: frame.content }
    case 'ACTIVITY_DELTA':
      return id === undefined ? { type: 'other' } : { type: 'activity-patch', id, patch: list.parse(frame.patch) }
    case 'MESSAGES_SNAPSHOT':
      return { type: 'snapshot', messages: list.parse(frame.messages).flatMap((message) => snapshotMessageOf(message)) }
    case 'CUSTOM':
      return frame.name === 'on_interrupt'
        ? { type: 'custom-interrupt', interrupt: customInterruptOf(frame.value) }
        : { type: 'other' }
    case 'STATE_SNAPSHOT':
      return { type: 'state', state: frame.snapshot }
    case 'STATE_DELTA':
      return { type: 'state-patch', patch: list.parse(frame.delta) }
    case 'RUN_FINISHED':
      return { type: 'finished', outcome: outcomeOf(frame.outcome), usage: usageOf(frame.usage) }
    case 'RUN_ERROR': {
      const { message = 'The agent failed and gave no reason.', code } = frame
      return { type: 'failed', message, code, usage: usageOf(frame.usage) }
    }
    default:
      return others.has(frame.type) ? { type: 'other' } : { type: 'unknown', name: frame.type }
  }
}

const todoSchema = z.object({ content: z.string(), status: z.string(), priority: text })
const todosSchema = z.looseObject({ todos: z.array(todoSchema) })

/** Returns the checklist in the content of an activity. Undefined if it has none. */
export function todosIn(content: unknown): readonly Todo[] | undefined {
  const parsed = todosSchema.safeParse(content)
  return parsed.success ? parsed.data.todos : undefined
}

const fileSchema = z.looseObject({ mime: z.string(), url: z.string(), name: text })

/** Returns the file in the content of an activity of ours. Undefined if it has none, or one without an address. */
export function fileIn(content: unknown): LocalFile | undefined {
  const { data } = fileSchema.safeParse(content)
  return data && { mime: data.mime, url: data.url, filename: data.name }
}

const failedSchema = z.union([
  z.looseObject({ error: z.string().min(1) }).transform(({ error }) => error),
  z.looseObject({ reply: z.looseObject({ status: z.enum(['failed', 'rejected', 'forbidden']) }) }).transform(() => ''),
  // TanStack AI has no other sign of a failed call.
  z.looseObject({ tanstack: z.looseObject({ state: z.literal('output-error') }) }).transform(() => ''),
])

const interruptedSchema = z.looseObject({ reply: z.looseObject({ status: z.literal('interrupted') }) })

/** Reads the content of a call's result. A failure without a message of its own has the content as its error. */
function resultOf(content: unknown, error: string | undefined, metadata: unknown) {
  const read = contentOf(content)
  const failed = error ?? failedSchema.safeParse(metadata).data
  const hasEndedEarly = interruptedSchema.safeParse(metadata).success
  const isInterrupted = hasEndedEarly && read.text === ''
  if (hasEndedEarly && !isInterrupted) return { ...read, isInterrupted, error: read.text }
  return { ...read, isInterrupted, error: failed === undefined ? undefined : failed || read.text || 'The call failed.' }
}

const sourceSchema = z.looseObject({ type: z.string(), value: z.string(), mimeType: text })
const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional().catch(undefined),
  source: sourceSchema.optional().catch(undefined),
  metadata: z.looseObject({ filename: text }).optional().catch(undefined),
})

/** Where a file is, by the type of a content part, if the part does not tell its MIME type. */
const defaultTypes: Readonly<Record<string, string>> = { image: 'image/*', audio: 'audio/*', video: 'video/*' }

/** Reads a message's content: a text, or parts. Anything else becomes its JSON, so that nothing that was said is lost. */
function contentOf(content: unknown): { readonly text: string; readonly files: readonly LocalFile[] } {
  if (content === undefined || content === null) return { text: '', files: [] }
  if (typeof content === 'string') return { text: content, files: [] }
  const parts = z.array(partSchema).safeParse(content)
  if (!parts.success) return { text: JSON.stringify(content), files: [] }
  const files = parts.data.flatMap(({ type, source, metadata }): readonly LocalFile[] => {
    if (!source || source.type === 'file') return []
    const mime = source.mimeType ?? defaultTypes[type] ?? 'application/octet-stream'
    const url = source.type === 'data' ? `data:${mime};base64,${source.value}` : source.value
    return [{ mime, url, filename: metadata?.filename }]
  })
  return { text: parts.data.flatMap((part) => part.text ?? []).join('\n'), files }
}

const callSchema = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string().catch('') }),
})
const messageSchema = z.looseObject({
  id: z.string(),
  role: z.string(),
  content: z.unknown().optional(),
  toolCalls: list.optional(),
  toolCallId: text,
  error: text,
  metadata: record,
  subagentRunId: text,
})

/** Reads a message of a snapshot. Leaves out one without an id or a role. */
function snapshotMessageOf(raw: unknown): readonly SnapshotMessage[] {
  const parsed = messageSchema.safeParse(raw)
  if (!parsed.success) return []
  const { id, role, content, toolCalls = [], toolCallId, metadata, subagentRunId } = parsed.data
  const calls = toolCalls.flatMap((call): readonly SnapshotCall[] => {
    const { data } = callSchema.safeParse(call)
    return data ? [{ id: data.id, name: data.function.name, args: data.function.arguments }] : []
  })
  const result = resultOf(role === 'activity' ? '' : content, parsed.data.error, metadata)
  return [{ id, role, ...result, calls, toolCallID: toolCallId, subagentID: subagentRunId, raw }]
}

const interruptSchema = z.looseObject({
  id: z.string().min(1),
  reason: text,
  message: text,
  toolCallId: text,
  subagentRunId: text,
  responseSchema: record,
  metadata: record,
})

const langGraphSchema = z.looseObject({ langgraph: z.looseObject({ raw: z.unknown().optional() }) })

/** Names of LangGraph in JavaScript and Python, and of Mastra. */
const customSchema = z.looseObject({
  type: text,
  reason: text,
  message: text,
  question: text,
  toolCallId: text,
  tool_call_id: text,
  responseSchema: record,
  response_schema: record,
  resumeSchema: z.string().optional().catch(undefined),
})

/** Reads the value of a custom event as an interrupt. */
function customInterruptOf(given: unknown): Interrupt {
  const value = parsedJson(given)
  const fields = customSchema.safeParse(value).data ?? {}
  const schema = record.parse(fields.responseSchema ?? fields.response_schema ?? parsedJson(fields.resumeSchema))
  return {
    id: 'on_interrupt',
    reason: fields.reason ?? 'input_required',
    message: fields.message ?? fields.question ?? (typeof value === 'string' ? value : undefined),
    toolCallID: fields.toolCallId ?? fields.tool_call_id,
    subagentID: undefined,
    schema,
    metadata: fields.type === 'mastra_suspend' ? { mastra: value } : {},
    value,
    isCustom: true,
  }
}

/** Parses a text as JSON. Returns any other value, and a text that isn't JSON, as it is. */
function parsedJson(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** Reads how a run ended. An outcome that is absent or unknown counts as a success, as the protocol says. */
function outcomeOf(outcome: Frame['outcome']): WireOutcome {
  if (outcome?.type === 'cancelled') return { type: 'cancelled' }
  if (outcome?.type !== 'interrupt') return { type: 'success' }
  const interrupts = list.parse(outcome.interrupts).flatMap((raw): readonly Interrupt[] => {
    const { data } = interruptSchema.safeParse(raw)
    if (!data) return []
    const { id, reason = '', message, toolCallId, subagentRunId, responseSchema, metadata = {} } = data
    const value = langGraphSchema.safeParse(metadata).data?.langgraph.raw
    const asked = { id, reason, message, metadata, value, isCustom: false }
    return [{ ...asked, toolCallID: toolCallId, subagentID: subagentRunId, schema: responseSchema }]
  })
  return interrupts.length === 0 ? { type: 'success' } : { type: 'interrupt', interrupts }
}

const count = z.number().nonnegative().catch(0).default(0)
const usageSchema = z.looseObject({
  inputTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  cachedInputTokens: count,
  cacheWriteInputTokens: count,
})

/** Reads the tokens of a run, one entry per model. Older producers send a single entry. */
function usageOf(usage: unknown): readonly WireUsage[] {
  if (usage === undefined || usage === null) return []
  return (Array.isArray(usage) ? usage : [usage]).flatMap((entry): readonly WireUsage[] => {
    const { data } = usageSchema.safeParse(entry)
    if (!data || data.inputTokens + data.outputTokens === 0) return []
    const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens, cacheWriteInputTokens } = data
    return [
      {
        input: Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens),
        output: Math.max(0, outputTokens - reasoningTokens),
        reasoning: reasoningTokens,
        cacheRead: cachedInputTokens,
        cacheWrite: cacheWriteInputTokens,
      },
    ]
  })
}
