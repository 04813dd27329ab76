import type { InputPart, LocalOutput } from '@reply/core/source'
import * as z from 'zod'
import { filesIn } from './content.ts'
import type { ClaudeEvent } from './event.ts'
import { decodeClaude } from './line.ts'

/** One line of a transcript. */
export interface TranscriptLine {
  /** Its own id. */
  readonly id: string | undefined
  /** Set if the line begins a run. */
  readonly prompt: { readonly id: string; readonly parts: readonly InputPart[] } | undefined
  /** Whether a person stopped the run. */
  readonly isInterruption: boolean
  readonly message: { readonly id: string; readonly model: string } | undefined
  readonly stopReason: string | undefined
  /** The message of Claude Code itself, if the model's call failed. */
  readonly error: string | undefined
  readonly tokens: Extract<LocalOutput, { readonly type: 'usage' }>['tokens'] | undefined
  readonly events: readonly ClaudeEvent[]
  readonly cwd: string | undefined
  readonly at: number | undefined
  readonly raw: unknown
}

const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))])

const user = z.object({
  type: z.literal('user'),
  uuid: z.string(),
  isMeta: z.boolean().optional(),
  isCompactSummary: z.boolean().optional(),
  origin: z.object({ kind: z.string() }).nullish(),
  message: z.object({ content }),
})

const assistant = z.object({
  type: z.literal('assistant'),
  isApiErrorMessage: z.boolean().optional(),
  message: z.object({
    id: z.string(),
    model: z.string(),
    stop_reason: z.string().nullish(),
    content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
    usage: z.object({
      input_tokens: z.number().default(0),
      output_tokens: z.number().default(0),
      cache_read_input_tokens: z.number().nullish(),
      cache_creation_input_tokens: z.number().nullish(),
    }),
  }),
})

const common = z.looseObject({
  uuid: z.string().optional(),
  timestamp: z.string().optional(),
  cwd: z.string().optional(),
  toolUseResult: z.unknown().optional(),
})

/**
 * Reads a line of a transcript. Undefined if it isn't JSON, for example because the process was killed while it wrote, or if
 * it changes no reply.
 */
export function decodeTranscriptLine(text: string): TranscriptLine | undefined {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    return undefined
  }
  const found = common.safeParse(raw).data
  if (!found) return undefined
  const at = found.timestamp === undefined ? Number.NaN : Date.parse(found.timestamp)
  const line: TranscriptLine = {
    id: found.uuid,
    prompt: undefined,
    isInterruption: false,
    message: undefined,
    stopReason: undefined,
    error: undefined,
    tokens: undefined,
    // The wire has the tool's own result under another name.
    events: decodeClaude({ ...found, tool_use_result: found.toolUseResult }),
    cwd: found.cwd,
    at: Number.isNaN(at) ? undefined : at,
    raw,
  }
  const asked = user.safeParse(raw).data
  if (asked) return { ...line, ...promptOf(asked) }
  const answered = assistant.safeParse(raw).data
  if (!answered) return line.events.length === 0 ? undefined : line
  const { id, model, stop_reason, usage, content: blocks } = answered.message
  const isError = answered.isApiErrorMessage === true
  return {
    ...line,
    message: { id, model },
    stopReason: stop_reason ?? undefined,
    error: isError ? blocks.map((block) => block.text ?? '').join('\n') : undefined,
    tokens: {
      input: usage.input_tokens,
      output: usage.output_tokens,
      reasoning: 0,
      cacheRead: usage.cache_read_input_tokens ?? 0,
      cacheWrite: usage.cache_creation_input_tokens ?? 0,
    },
  }
}

/**
 * Returns the prompt of a `user` line, or that a person stopped the run. A turn of Claude Code itself has the summary of its
 * task as a synthetic prompt. Empty for results of tools, summaries and Claude Code's own notes, which begin no run.
 */
function promptOf({ uuid, isMeta, isCompactSummary, origin, message }: z.infer<typeof user>) {
  const blocks = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
  if (isMeta || isCompactSummary || blocks.some(({ type }) => type === 'tool_result')) return {}
  const texts = blocks.flatMap((block) => ('text' in block && typeof block.text === 'string' ? [block.text] : []))
  if (texts.some((text) => text.startsWith('[Request interrupted by user'))) return { isInterruption: true }
  const files = filesIn(blocks).map((file): InputPart => ({ type: 'file', ...file }))
  if (texts.length === 0 && files.length === 0) return {}
  if (origin?.kind === 'task-notification') {
    const summary = /<summary>([\s\S]*?)<\/summary>/.exec(texts.join('\n'))?.[1] ?? 'A task has ended.'
    return { prompt: { id: uuid, parts: [{ type: 'text' as const, text: summary, synthetic: true }] } }
  }
  const shown = texts.map((text): InputPart => ({ type: 'text', text: commandIn(text) ?? text }))
  return { prompt: { id: uuid, parts: [...shown, ...files] } }
}

/** Returns a slash command as it was typed, with its arguments. Undefined for other texts. */
function commandIn(text: string): string | undefined {
  const name = /<command-name>\/?([\s\S]*?)<\/command-name>/.exec(text)?.[1]
  const args = /<command-args>([\s\S]*?)<\/command-args>/.exec(text)?.[1] ?? ''
  return name === undefined ? undefined : `/${name} ${args}`.trim()
}

const meta = z.object({ toolUseId: z.string(), description: z.string().default('') })

/** Reads the file that links a sub-agent's transcript to its call. Undefined if it isn't JSON of this shape. */
export function decodeSubAgentFile(text: string): z.infer<typeof meta> | undefined {
  try {
    return meta.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
