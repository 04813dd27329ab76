import * as z from 'zod'
import { SinkError } from './error.ts'
import type { Texts } from './texts.ts'
import { texts as defaultTexts } from './texts.ts'

/** How a reply is shown. Every field has a default. */
export interface Policy {
  /**
   * `edit`: messages grow by edits. `native`: uses the platform's own stream if the port has one, else `edit`.
   * `append`: nothing is ever edited; the text comes in pieces that end between words, a second apart. `final`: the
   * answer comes as one text when the reply has settled, below its asks and notices. Default `edit`; a port without
   * edits shows complete parts.
   */
  readonly delivery: 'edit' | 'native' | 'append' | 'final'
  /**
   * `quiet`: answers, asks and endings. `normal`: also the activity, and tool calls that failed or were denied; without
   * edits, all calls by name. `calls`: also a short line for each call that has ended, which stays. `verbose`: also each
   * call with its output. Default `normal`.
   */
  readonly verbosity: 'quiet' | 'normal' | 'calls' | 'verbose'
  /** Shows the model's reasoning. Default false. */
  readonly reasoning: boolean
  /** Sets reactions on the message with the prompt, seen and done, if the port supports them. Default false. */
  readonly reactions: boolean
  /** Minimum time between two notices of tools, in ms. Default 5,000. */
  readonly toolThrottleMs: number
  /**
   * Silence after which a message says that the agent still works, where each message notifies, in ms: a heartbeat if
   * nothing can be edited, else the status, which becomes the answer. Default 60,000.
   */
  readonly heartbeatMs: number
  /**
   * How long the first text waits for a sentence or forty characters before it is posted, in ms. With
   * `delivery: 'append'` each message waits as long for more. Default 200.
   */
  readonly firstFlushMs: number
  /** Minimum time between edits of growing text, in ms. Default: the port's limit. */
  readonly editIntervalMs?: number | undefined
  /** With `delivery: 'append'`: minimum time between messages of growing text, in ms. Default 1,000. */
  readonly appendIntervalMs: number
  /** With `delivery: 'append'`: maximum length of one message, in the platform's units. Default 3,500. */
  readonly appendLength: number
  /** How long to wait before showing a status, in ms. Default 1,500. */
  readonly statusAfterMs: number
  /** How often the elapsed time in the status is updated, in ms. Default 5,000. */
  readonly statusTickMs: number
  /** A reply that takes longer than this ends with a message that notifies, in ms. Default 30,000. */
  readonly notifyAfterMs: number
  /**
   * Which messages of the answer reply to the one that asked. `last`: the first, and the one that is the last when it is
   * posted. `all`: each. Default `last`.
   */
  readonly repliesToPrompt: 'last' | 'all'
  /**
   * When to post that a run was aborted. `elsewhere`: only if another client aborted it, because after an abort through
   * this process the chat has the answer to the command, or a newer prompt. `always`: for a chat whose runs can be
   * aborted from another chat. Default `elsewhere`.
   */
  readonly abortNotice: 'elsewhere' | 'always'
  /**
   * Code in an answer, or a diff in a permission, of more UTF-16 units is posted as a file, if the port can. Default
   * 4,000.
   */
  readonly documentLength: number
  /**
   * How long a settled reply may make no progress before the sink gives it up, in ms. Its missing messages are then listed
   * in `Delivery.undelivered`, and `onError` gets `given-up`. Default 86,400,000, a day.
   */
  readonly giveUpMs: number
  /**
   * Allows a permission to be granted even if its tool input is unknown. Default false: it can only be rejected.
   */
  readonly allowUnseen: boolean
}

const ms = z.number().int().nonnegative()

/** What each field accepts, and its default. */
const fields = {
  delivery: z
    .enum({ edit: 'edit', native: 'native', append: 'append', final: 'final' } satisfies Named<Policy['delivery']>)
    .default('edit'),
  verbosity: z
    .enum({ quiet: 'quiet', normal: 'normal', calls: 'calls', verbose: 'verbose' } satisfies Named<Policy['verbosity']>)
    .default('normal'),
  reasoning: z.boolean().default(false),
  reactions: z.boolean().default(false),
  toolThrottleMs: ms.min(1000).default(5000),
  heartbeatMs: ms.min(10_000).default(60_000),
  firstFlushMs: ms.default(200),
  editIntervalMs: ms.optional(),
  appendIntervalMs: ms.default(1000),
  appendLength: z.number().int().min(100).default(3500),
  statusAfterMs: ms.default(1500),
  statusTickMs: ms.min(1000).default(5000),
  notifyAfterMs: ms.default(30_000),
  repliesToPrompt: z.enum({ last: 'last', all: 'all' } satisfies Named<Policy['repliesToPrompt']>).default('last'),
  abortNotice: z
    .enum({ elsewhere: 'elsewhere', always: 'always' } satisfies Named<Policy['abortNotice']>)
    .default('elsewhere'),
  documentLength: z.number().int().min(500).default(4000),
  giveUpMs: ms.min(1000).default(86_400_000),
  allowUnseen: z.boolean().default(false),
} satisfies { readonly [Field in keyof Policy]-?: z.ZodType<Policy[Field]> }

/** What each field of a policy is called in the JSON Schema of a config. */
const descriptions: Readonly<Record<keyof Policy, string>> = {
  delivery:
    "How text grows: 'edit' by edits, 'native' by the platform's own stream, 'append' in pieces without edits, 'final' at the end. Default: edit.",
  verbosity:
    "'quiet': answers, asks and endings. 'normal': also the activity and failed tool calls. 'calls': also a line for each tool call. 'verbose': also its output. Default: normal.",
  reasoning: "Shows the model's reasoning. Default: false.",
  reactions: 'Reactions on the message that asked: seen, done. Default: false.',
  toolThrottleMs: 'Minimum time between two notices of tools, in ms. Default: 5000.',
  heartbeatMs:
    'Silence after which a message says that the agent still works, where each one notifies, in ms. Default: 60000.',
  firstFlushMs:
    'How long the first text waits for a sentence or forty characters before it is posted, in ms. Default: 200.',
  editIntervalMs: "Minimum time between edits of growing text, in ms. Default: the platform's limit.",
  appendIntervalMs: "With delivery 'append': minimum time between messages of growing text, in ms. Default: 1000.",
  appendLength: "With delivery 'append': the most of one message, in the platform's units. Default: 3500.",
  statusAfterMs: 'A reply that answers sooner shows no status, in ms. Default: 1500.',
  statusTickMs: 'Steps of the elapsed time in the status, in ms. Default: 5000.',
  notifyAfterMs: 'A reply that took longer ends with a message that notifies, in ms. Default: 30000.',
  repliesToPrompt:
    "Which messages of the answer reply to the prompt: 'last' is the first and the last one, 'all' is each. Default: last.",
  abortNotice:
    "When the end of an aborted run is told: 'elsewhere' only if another client aborted it, 'always'. Default: elsewhere.",
  documentLength: 'Code or a diff of more UTF-16 units is posted as a file. Default: 4000.',
  giveUpMs:
    'Messages of a settled reply that could not be posted for this long are given up, in ms. Default: 86400000, a day.',
  allowUnseen: 'A permission can be allowed even if what it would run is unknown. Default: false.',
}

/** What a policy in a config accepts: each field may be left out, and has no default here, as channels have their own. */
export const policySchema: z.ZodType<Partial<Policy>> = z.strictObject(
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const bare: z.ZodType = field instanceof z.ZodDefault ? field.unwrap() : field
      return [name, bare.optional().describe(descriptions[name as keyof Policy])] as const
    }),
  ),
)

/**
 * Accepts the texts that a config can replace: plain strings. Functions and groups can only be set in code.
 */
export const textsSchema: z.ZodType<Partial<Texts>> = z.strictObject(
  Object.fromEntries(
    Object.entries(defaultTexts).flatMap(([name, word]) =>
      typeof word === 'string' ? [[name, z.string().optional().describe(`In place of: ${word}`)] as const] : [],
    ),
  ),
)

/** Each value under its own name: a missing one does not compile. */
type Named<Value extends string> = { readonly [Name in Value]: Name }

const schema = z.object(fields).strict()

/** Fills in the defaults. Throws `invalid` with the field and what it accepts. */
export function toPolicy(given: Partial<Policy> = {}): Policy {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new SinkError('invalid', `The policy is invalid at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}.`)
}

/** Fills in the English text of each one that is not set. */
export function toTexts(given: Partial<Texts> = {}): Texts {
  const texts = { ...defaultTexts, ...given }
  // Platforms refuse an edit to an empty text.
  return texts.removed.trim() === '' ? { ...texts, removed: defaultTexts.removed } : texts
}
