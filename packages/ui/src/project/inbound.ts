import { z } from 'zod'
import { fieldOf } from '../fields.ts'
import type { ToolView } from './tool.ts'

/** The parts of a message that a page says it has. They only decide what that page gets, so a page that lies harms itself alone. */
export interface Have {
  /** The message's id. */
  readonly id: string
  /** The text of each text and thought, and how many chunk ids it took. Without those that were taken back. */
  readonly texts: ReadonlyMap<string, { readonly text: string; readonly ids: number }>
  /** The calls, by the ids of their parts. */
  readonly tools: ReadonlyMap<string, ToolView>
  /** The ids of files and of prompts that joined. */
  readonly others: ReadonlySet<string>
  /** The parts of its last step. */
  readonly lastStep: ReadonlySet<string>
}

/** More parts than a message has, and few enough to read each. A message with more counts as nothing. */
export const maxParts = 10_000

const infoSchema = z.object({
  reply: z.object({ part: z.string(), retracted: z.boolean().optional(), continues: z.boolean().optional() }),
})

const textSchema = z.object({ type: z.enum(['text', 'reasoning']), text: z.string(), providerMetadata: infoSchema })

const fileSchema = z.object({ type: z.literal('file'), providerMetadata: infoSchema })

const toolSchema = z.object({
  type: z.literal('dynamic-tool'),
  toolCallId: z.string(),
  toolName: z.string(),
  title: z.string().optional(),
  state: z.string(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
  preliminary: z.boolean().optional(),
  providerExecuted: z.boolean().optional(),
  approval: z.object({ id: z.string() }).optional(),
})

const namedSchema = z.object({ type: z.enum(['steering-message', 'data-file']), id: z.string() })

const retractedSchema = z.object({
  type: z.literal('data-retracted'),
  data: z.object({ parts: z.array(z.string()) }),
})

const messageSchema = z.object({ id: z.string(), parts: z.array(z.unknown()) })

/** Reads a message of a page. Parts that this package doesn't write are left out. Undefined for anything else. */
export function readHave(message: unknown): Have | undefined {
  const parsed = messageSchema.safeParse(message).data
  if (!parsed || parsed.parts.length > maxParts) return undefined
  const texts = new Map<string, { text: string; ids: number }>()
  const tools = new Map<string, ToolView>()
  const others = new Set<string>()
  let lastStep = new Set<string>()
  const retracted = new Set(parsed.parts.flatMap(retractedIn))
  for (const part of parsed.parts) add(part)
  return { id: parsed.id, texts, tools, others, lastStep }

  function add(part: unknown): void {
    switch (fieldOf(part, 'type')) {
      case 'step-start':
        lastStep = new Set()
        return
      case 'text':
      case 'reasoning': {
        const text = textSchema.safeParse(part).data
        return text && addText(text)
      }
      case 'dynamic-tool': {
        const tool = toolSchema.safeParse(part).data
        if (!tool) return
        tools.set(tool.toolCallId, toolOf(tool))
        lastStep.add(tool.toolCallId)
        return
      }
      case 'file': {
        const file = fileSchema.safeParse(part).data
        if (file) others.add(file.providerMetadata.reply.part)
        return
      }
      case 'steering-message':
      case 'data-file': {
        const named = namedSchema.safeParse(part).data
        if (named) others.add(named.id)
      }
    }
  }

  /** Adds a text to what is there of its part: it goes on with it, or takes its place. */
  function addText({ text, providerMetadata: { reply } }: z.infer<typeof textSchema>): void {
    const id = reply.part.replace(/~\d+$/, '')
    const before = texts.get(id)
    const isGone = reply.retracted || retracted.has(reply.part)
    // Counted, because a page could claim any number.
    const ids = (before?.ids ?? 0) + 1
    texts.set(id, { text: isGone ? '' : reply.continues ? `${before?.text ?? ''}${text}` : text, ids })
    lastStep.add(id)
  }
}

/** The ids of the parts that a page was told to take back. */
function retractedIn(part: unknown): readonly string[] {
  if (fieldOf(part, 'type') !== 'data-retracted') return []
  return retractedSchema.safeParse(part).data?.data.parts ?? []
}

/** How a page sees a call. */
function toolOf(tool: z.infer<typeof toolSchema>): ToolView {
  const { state, output, approval } = tool
  const isWaiting = state === 'approval-requested' || state === 'approval-responded'
  return {
    tool: tool.toolName,
    title: tool.title,
    input: state === 'input-streaming' ? undefined : { value: tool.input },
    isExecuted: tool.providerExecuted ?? false,
    approval: isWaiting && approval ? { id: approval.id } : undefined,
    isAnswered: state === 'approval-responded',
    progress: tool.preliminary && typeof output === 'string' ? output : undefined,
    end:
      state === 'output-available' && !tool.preliminary
        ? { type: 'output', value: output }
        : state === 'output-error'
          ? { type: 'error', text: tool.errorText ?? '' }
          : state === 'output-denied'
            ? { type: 'denied', approvalId: approval?.id }
            : undefined,
  }
}
