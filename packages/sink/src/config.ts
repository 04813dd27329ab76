import * as z from 'zod'
import { SinkError } from './error.ts'
import type { Texts } from './texts.ts'
import { texts as defaultTexts } from './texts.ts'

/** How a reply is shown. Every field has a default. */
export interface Policy {
  /**
   * - `edit`: messages grow by edits. On a port without edits, each part is shown once it is complete.
   * - `native`: the platform's own stream if the port has one, otherwise like `edit`.
   * - `append`: nothing is edited. The text is posted in pieces that end between words.
   * - `final`: the answer is posted as one text when the reply has settled, below its asks and notices.
   *
   * Default `edit`.
   */
  readonly delivery: 'edit' | 'native' | 'append' | 'final'
  /**
   * - `quiet`: answers, asks and endings.
   * - `normal`: also the activity, and tool calls that failed or were denied. Without edits, the names of all calls.
   * - `calls`: also a short line for each finished call, which stays.
   * - `verbose`: also the output of each call.
   *
   * Default `normal`.
   */
  readonly verbosity: 'quiet' | 'normal' | 'calls' | 'verbose'
  /** Shows the model's reasoning. Default false. */
  readonly reasoning: boolean
  /** Whether to mark the message with the prompt as seen and done by reactions, if the port supports them. Default false. */
  readonly reactions: boolean
  /** Minimum time between two notices about tool calls, in ms. Default 5,000. */
  readonly toolThrottleMs: number
  /**
   * On platforms where each message notifies: after how much silence, in ms, a message says that the agent is still
   * working. It is a heartbeat if nothing can be edited, otherwise a status that later becomes the answer. Default 60,000.
   */
  readonly heartbeatMs: number
  /**
   * How long the first text waits until it has a sentence or forty characters, in ms. With `delivery: 'append'`, each
   * message waits this long for more text. Default 200.
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
   * Which messages of the answer reply to the prompt's message. `last`: the first one, and the one that is last when it
   * is posted. `all`: each. Default `last`.
   */
  readonly repliesToPrompt: 'last' | 'all'
  /**
   * How the chat tells that a run was aborted. `elsewhere`: by a message if another program aborted it, and not at all if
   * yours did, because the chat usually shows that already. `always`: by a message in both cases. Choose it if people can
   * stop a run from a different chat. `below`: by a message if another program aborted it, and by a line below the answer
   * if yours did, see `Delivery.saysStopped`. Default `elsewhere`. In a bridge, it is `below`.
   */
  readonly abortNotice: 'elsewhere' | 'always' | 'below'
  /**
   * Code in an answer and diffs in a permission that are longer than this are posted as a file if the port supports it,
   * in UTF-16 units. Default 4,000.
   */
  readonly documentLength: number
  /**
   * Which files of the reply are posted.
   * - `all`: those that the agent sends, and those that its tools return, for example screenshots. With `quiet` like `sent`.
   * - `sent`: those that the agent sends: in its answer, or with the tool `send_file`.
   * - `none`: no files.
   *
   * Files that a tool opens for the model to look at are never posted. Default `all`.
   */
  readonly files: 'all' | 'sent' | 'none'
  /**
   * How long a settled reply is retried without any progress, in ms. After that its missing messages are listed in
   * `Delivery.undelivered`, and `onError` gets `given-up`. Default 86,400,000, a day.
   */
  readonly giveUpMs: number
  /** Whether a permission can be allowed while its tool input is unknown. Default false: it can only be rejected. */
  readonly allowUnseen: boolean
}

const ms = z.number().int().nonnegative()

/** The schema of each field, with its default. */
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
    .enum({ elsewhere: 'elsewhere', always: 'always', below: 'below' } satisfies Named<Policy['abortNotice']>)
    .default('elsewhere'),
  documentLength: z.number().int().min(500).default(4000),
  files: z.enum({ all: 'all', sent: 'sent', none: 'none' } satisfies Named<Policy['files']>).default('all'),
  giveUpMs: ms.min(1000).default(86_400_000),
  allowUnseen: z.boolean().default(false),
} satisfies { readonly [Field in keyof Policy]-?: z.ZodType<Policy[Field]> }

/** The description of each field in the JSON Schema of a bridge's config, with the defaults of a bridge. */
const descriptions: Readonly<Record<keyof Policy, string>> = {
  delivery:
    "How text grows: 'edit' by edits, 'native' by the platform's own stream, 'append' in pieces without edits, 'final' at the end. Default: edit.",
  verbosity:
    "'quiet': answers, asks and endings. 'normal': also the activity and failed tool calls. 'calls': also a line for each tool call. 'verbose': also its output. Default: normal.",
  reasoning: "Shows the model's reasoning. Default: false.",
  reactions: 'Marks the message with the prompt as seen and done by reactions. Default: false.',
  toolThrottleMs: 'Minimum time between two notices about tool calls, in ms. Default: 5000.',
  heartbeatMs:
    'Where each message notifies: after how much silence a message says that the agent is still working, in ms. Default: 60000.',
  firstFlushMs: 'How long the first text waits until it has a sentence or forty characters, in ms. Default: 200.',
  editIntervalMs: "Minimum time between edits of growing text, in ms. Default: the platform's limit.",
  appendIntervalMs: "With delivery 'append': minimum time between messages of growing text, in ms. Default: 1000.",
  appendLength: "With delivery 'append': maximum length of one message, in the platform's units. Default: 3500.",
  statusAfterMs: 'How long to wait before showing a status, in ms. Default: 1500.',
  statusTickMs: 'How often the elapsed time in the status is updated, in ms. Default: 5000.',
  notifyAfterMs: 'A reply that takes longer than this ends with a message that notifies, in ms. Default: 30000.',
  repliesToPrompt:
    "Which messages of the answer reply to the prompt: 'last' is the first and the last one, 'all' is each. Default: last.",
  abortNotice:
    "How the chat tells that a run was aborted. 'below': by a message if another client aborted it, by a line below the answer if a person of the chat did. 'elsewhere': by that message alone. 'always': by a message in both cases. Default: below.",
  documentLength: 'Code and diffs that are longer than this are posted as a file, in UTF-16 units. Default: 4000.',
  files:
    "Which files are posted: 'all' those that the agent sends and its tools return, 'sent' those that it sends, 'none'. Default: all.",
  giveUpMs: 'How long a settled reply is retried without any progress, in ms. Default: 86400000, a day.',
  allowUnseen: 'Whether a permission can be allowed while its tool input is unknown. Default: false.',
}

/** The schema of a policy in a config. All fields are optional, without defaults, because channels have their own. */
export const policySchema: z.ZodType<Partial<Policy>> = z.strictObject(
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const bare: z.ZodType = field instanceof z.ZodDefault ? field.unwrap() : field
      return [name, bare.optional().describe(descriptions[name as keyof Policy])] as const
    }),
  ),
)

/** The schema of the texts that a config can replace: plain strings. Functions and groups can only be set in code. */
export const textsSchema: z.ZodType<Partial<Texts>> = z.strictObject(
  Object.fromEntries(
    Object.entries(defaultTexts).flatMap(([name, text]) =>
      typeof text === 'string' ? [[name, z.string().optional().describe(`In place of: ${text}`)] as const] : [],
    ),
  ),
)

/** An object with each value under its own name, so that a missing value doesn't compile. */
type Named<Value extends string> = { readonly [Name in Value]: Name }

const schema = z.object(fields).strict()

/** Fills in the defaults. Throws `invalid` with the name of the field and the reason. */
export function toPolicy(changes: Partial<Policy> = {}): Policy {
  const parsed = schema.safeParse(changes)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new SinkError('invalid', `The policy is invalid at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}.`)
}

/** Fills in the English texts. A blank `removed` is replaced as well, because platforms refuse an edit to an empty text. */
export function toTexts(replacements: Partial<Texts> = {}): Texts {
  const texts = { ...defaultTexts, ...replacements }
  return texts.removed.trim() === '' ? { ...texts, removed: defaultTexts.removed } : texts
}
