import { z } from 'zod'
import { SinkError } from './error.ts'
import { words as defaultWords, type Words } from './words.ts'

const ms = z.number().int().nonnegative()

const schema = z
  .object({
    delivery: z.enum(['edit', 'native', 'append', 'final']).default('edit'),
    verbosity: z.enum(['quiet', 'normal', 'verbose']).default('normal'),
    reasoning: z.boolean().default(false),
    reactions: z.boolean().default(false),
    toolThrottleMs: ms.min(1000).default(5000),
    heartbeatMs: ms.min(10_000).default(60_000),
    firstFlushMs: ms.default(200),
    editIntervalMs: ms.optional(),
    statusAfterMs: ms.default(1500),
    statusTickMs: ms.min(1000).default(5000),
    notifyAfterMs: ms.default(30_000),
    documentLength: z.number().int().min(500).default(4000),
    allowUnseen: z.boolean().default(false),
  })
  .strict()

/** How a reply is shown. Every field has a default; those of `policySchema` are the ones that count. */
export interface Policy extends z.infer<typeof schema> {
  /**
   * `edit`: messages grow by edits. `native`: by the platform's own stream where the port has one, else `edit`.
   * `append`: nothing is ever edited; the text comes in pieces of at most 3,500 units, a second apart.
   * `final`: the answer comes when it is whole. Default `edit`; what can't edit shows whole parts.
   */
  readonly delivery: 'edit' | 'native' | 'append' | 'final'
  /** `quiet`: answers, asks and endings. `normal`: what it is doing, too. `verbose`: each tool call with its output. */
  readonly verbosity: 'quiet' | 'normal' | 'verbose'
  /** Shows what the model thought. Default false. */
  readonly reasoning: boolean
  /** Signs on the message that asked, where the port can: it was taken, it is done. Default false. */
  readonly reactions: boolean
  /** One notice of tools in so long, in ms. Default 5,000. */
  readonly toolThrottleMs: number
  /** Where nothing can be edited: a word after so long without any, in ms. Default 60,000. */
  readonly heartbeatMs: number
  /** A text that begins waits so long for more, in ms. Default 200. */
  readonly firstFlushMs: number
  /** Default: what the port's limits say. */
  readonly editIntervalMs?: number | undefined
  /** A reply that answers sooner shows no status, in ms. Default 1,500. */
  readonly statusAfterMs: number
  /** The time in the status goes on in such steps, in ms. Default 5,000. */
  readonly statusTickMs: number
  /** A reply that took longer ends with a message that is heard, in ms. Default 30,000. */
  readonly notifyAfterMs: number
  /** Code in an answer, or a diff in a permission, of more UTF-16 units is posted as a file, where the port can. Default 4,000. */
  readonly documentLength: number
  /** A permission can be allowed though the source never told what it would run. Default false: it can only be rejected. */
  readonly allowUnseen: boolean
}

/** Fills in the defaults. Throws `invalid` with the field and what it takes. */
export function toPolicy(given: Partial<Policy> = {}): Policy {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new SinkError('invalid', `The policy is wrong at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}.`)
}

/** The words of a host, with ours where it gives none. */
export function toWords(given: Partial<Words> = {}): Words {
  return { ...defaultWords, ...given }
}
