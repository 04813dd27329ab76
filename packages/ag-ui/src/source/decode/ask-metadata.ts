import type { Question } from '@reply/core'
import * as z from 'zod'
import type { Interrupt } from './event.ts'

/** What the metadata of an interrupt says about its ask. */
export interface AskMetadata {
  /** One line for people. Undefined unless a server of ours asks. */
  readonly title: string | undefined
  /** The questions as they were asked. Undefined unless a server of ours asks. */
  readonly questions: readonly Question[] | undefined
  /** What "always" would allow. Undefined unless a server of ours asks. */
  readonly always: readonly string[] | undefined
  /** What to show to the person who decides, besides the call. */
  readonly metadata: Readonly<Record<string, unknown>>
}

const questionSchema = z.object({
  header: z.string(),
  question: z.string(),
  options: z.array(z.object({ label: z.string(), description: z.string() })),
  multiple: z.boolean(),
  custom: z.boolean(),
})
const ownSchema = z.looseObject({
  title: z.string().optional().catch(undefined),
  questions: z.array(questionSchema).optional().catch(undefined),
  always: z.array(z.string()).optional().catch(undefined),
})
const mastraSchema = z.looseObject({ suspendPayload: z.unknown().optional() })

/**
 * Reads the metadata of an interrupt. Leaves out what agents add for themselves, such as hashes: names with a colon, and the copy of
 * the call's own name.
 */
export function askMetadataOf({ metadata: given }: Interrupt): AskMetadata {
  const { reply, mastra, toolName: _, kind: __, ...others } = given
  const own = ownSchema.safeParse(reply).data
  const suspended = mastraSchema.safeParse(mastra).data?.suspendPayload
  const shown = Object.entries(others).filter(([name]) => !name.includes(':'))
  const metadata = { ...Object.fromEntries(shown), ...(suspended !== undefined && { suspended }) }
  return { title: own?.title, questions: own?.questions, always: own?.always, metadata }
}
