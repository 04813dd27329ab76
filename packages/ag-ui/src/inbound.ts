import type { PromptFile } from '@reply/core'
import { parseJson, Refusal } from '@reply/core/internal'
import { z } from 'zod'
import type { AgUiMessage } from './event.ts'

/** The parts of a request's `RunAgentInput` that count. Its state, tools, context and properties are not for the agent. */
export interface RunInput {
  readonly threadId: string
  readonly runId: string
  readonly parentRunId: string | undefined
  /** What the client shows. Only repeated to this client, never believed. */
  readonly messages: readonly AgUiMessage[]
  /** Answers to interrupts. Empty without any. */
  readonly resume: readonly ResumeEntry[]
}

/** An answer to an interrupt. `cancelled`: the person gave none. */
export interface ResumeEntry {
  readonly interruptId: string
  readonly status: 'resolved' | 'cancelled'
  readonly payload?: unknown
  /** Why the person rejected it, for the agent. */
  readonly reason: string | undefined
}

/** More characters than any id that a front end makes. */
const maxIdLength = 512

const idSchema = z.string().min(1).max(maxIdLength)

const inputSchema = z.object({
  threadId: idSchema,
  runId: idSchema,
  parentRunId: idSchema.nullish(),
  messages: z.array(z.unknown()).nullish(),
  resume: z.array(z.unknown()).nullish(),
})

const resumeSchema = z.object({
  interruptId: z.string().min(1).max(maxIdLength),
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
  metadata: z.object({ reason: z.string().max(10_000).optional() }).nullish(),
})

const fields = {
  id: idSchema,
  name: z.string().optional(),
  subagentRunId: z.string().optional(),
  encryptedValue: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
}
const contentSchema = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))])
const callSchema = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
  encryptedValue: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
const { name: _, ...fieldsWithoutName } = fields

/** Exactly the fields of AG-UI 1.0, because a snapshot repeats them, and clients refuse snapshots with others. */
const messageSchema = z.discriminatedUnion('role', [
  z.object({ ...fields, role: z.enum(['developer', 'system']), content: z.string() }),
  z.object({ ...fields, role: z.literal('user'), content: contentSchema }),
  z.object({
    ...fields,
    role: z.literal('assistant'),
    content: z.string().optional(),
    toolCalls: z.array(callSchema).optional(),
  }),
  z.object({
    ...fieldsWithoutName,
    role: z.literal('tool'),
    content: contentSchema,
    toolCallId: z.string(),
    error: z.string().optional(),
  }),
  z.object({ ...fieldsWithoutName, role: z.literal('reasoning'), content: z.string() }),
  z.object({
    ...fieldsWithoutName,
    role: z.literal('activity'),
    activityType: z.string(),
    content: z.record(z.string(), z.unknown()),
  }),
])

/** Reads the body of a POST. Throws a `Refusal` if it isn't a `RunAgentInput`. */
export function readRunInput(text: string): RunInput {
  const input = inputSchema.safeParse(parseJson(text)).data
  if (!input)
    throw new Refusal(400, 'The body has another shape than the RunAgentInput of AG-UI: { threadId, runId, messages }.')
  const { threadId, runId, parentRunId, messages, resume } = input
  return {
    threadId,
    runId,
    parentRunId: parentRunId ?? undefined,
    messages: (messages ?? []).map(toMessage),
    resume: (resume ?? []).map(toResumeEntry),
  }
}

function toMessage(value: unknown, index: number): AgUiMessage {
  const message = messageSchema.safeParse(withoutNulls(value)).data
  if (!message) throw new Refusal(400, `messages[${index}] is not a message of AG-UI 1.0 with an id and a role.`)
  return withoutUndefined(message) as AgUiMessage
}

function toResumeEntry(value: unknown, index: number): ResumeEntry {
  const entry = resumeSchema.safeParse(value).data
  if (!entry) throw new Refusal(400, `resume[${index}] has another shape than { interruptId, status, payload }.`)
  const { interruptId, status, payload, metadata } = entry
  return { interruptId, status, payload, reason: metadata?.reason }
}

/** Clients in some languages write `null` for an absent field, which the protocol forbids. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined))
}

const textSchema = z.object({ type: z.literal('text'), text: z.string() })

const mimeSchema = z
  .string()
  .max(255)
  .regex(/^[\w.+-]+\/[\w.+-]+$/)

const base64 = z.string().regex(/^[\w+/=-]*$/)

/** A file with its content, as of AG-UI 1.0, and as versions before it wrote it. */
const fileSchema = z.union([
  z
    .object({
      type: z.enum(['image', 'audio', 'video', 'document']),
      source: z.object({ type: z.literal('data'), value: base64, mimeType: mimeSchema }),
    })
    .transform(({ source: { value, mimeType } }) => ({ data: value, mime: mimeType, filename: undefined })),
  z
    .object({ type: z.literal('binary'), data: base64, mimeType: mimeSchema, filename: z.string().nullish() })
    .transform(({ data, mimeType, filename }) => ({ data, mime: mimeType, filename: filename ?? undefined })),
])

/** A prompt in a message of a person. */
export interface MessagePrompt {
  readonly text: string
  readonly files: readonly PromptFile[]
}

/**
 * Reads the text and the files of a person's message. A file's content must be in the message: the agent would read a path or an
 * address with its own rights, not with those of the person who names it. Throws a `Refusal` for a message without content.
 */
export function readPrompt(content: string | readonly unknown[]): MessagePrompt {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const texts: string[] = []
  const files: PromptFile[] = []
  // The first part that fits nothing ends it, because a schema takes long to refuse a value.
  for (const part of parts) {
    const found = textSchema.safeParse(part).data
    if (found) texts.push(found.text)
    else files.push(toFile(part))
  }
  const text = texts.join('\n\n')
  if (text.trim() === '' && files.length === 0)
    throw new Refusal(400, 'The last message has neither text nor files. Send a message with text.')
  return { text, files }
}

function toFile(part: unknown): PromptFile {
  const file = fileSchema.safeParse(part).data
  if (!file)
    throw new Refusal(
      400,
      'Only texts and files with base64 content are taken, no addresses and no ids of files. Send its content.',
    )
  const { data, mime, filename } = file
  const name = filename?.split(/[/\\]/).at(-1)?.slice(0, 255)
  return { url: `data:${mime};base64,${data}`, mime: mime.toLowerCase(), filename: name === '' ? undefined : name }
}
