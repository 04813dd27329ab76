import { byteSize } from '@reply/core/show'
import type { Attachment } from './port.ts'
import { FileRefusal, PortError } from './port-error.ts'

/**
 * What a platform allows. Each channel has one in its `limits.ts`, with the source of each number. Hosts with better
 * measurements can pass their own.
 */
export interface Limits {
  /** The maximum length of a message, in the unit that `Render` measures: usually UTF-16 units after rendering. */
  readonly maxLength: number
  /**
   * Finds runs of the characters that `Render` may escape, which doubles them: a pattern with `g`. Counting them keeps cut
   * points stable. Default: none.
   */
  readonly escapable?: RegExp | undefined
  /** Whether messages can be edited. Without edits, text is shown only when it is complete, and posted text stays. */
  readonly edits: boolean
  /** How long after posting a message can still be edited, in ms. Undefined: no limit. */
  readonly editWindowMs?: number | undefined
  /**
   * How long after posting the messages that change often are edited, in ms: texts, statuses, todos. Then they go on in
   * new messages. Asks are edited at any time. Default: `editWindowMs`.
   */
  readonly growWindowMs?: number | undefined
  /** Minimum time between edits of growing text in one chat, in ms. */
  readonly editIntervalMs: number
  /** The rate limit of one chat. Counts all calls except typing. */
  readonly perChat: Budget
  /** A second rate limit of one chat, for a shorter time. Both apply. Default: none. */
  readonly burst?: Budget | undefined
  /** The rate limit of all chats of one client together. Undefined: no limit. */
  readonly perClient?: Budget | undefined
  /**
   * Separate rate limits for some kinds of calls. Such a call counts against this limit only, and against none of the
   * three above. Default: all calls count together.
   */
  readonly perKind?: Readonly<Partial<Record<CallKind, KindBudget>>> | undefined
  /** A typing notice expires after this time, in ms. The sink renews it before that. Undefined: no typing notice. */
  readonly typingMs?: number | undefined
  /** Typing notices count against `perClient`. Default false. They never count against `perChat`. */
  readonly countsTyping?: boolean | undefined
  /** The typing notice shows the agent's activity, so no status message is needed. */
  readonly typingHasStatus?: boolean | undefined
  /** Buttons below a message. Undefined: there are none, so people answer asks by text. */
  readonly buttons?: ButtonLimits | undefined
  /** The port shows `Bubble.form` with the platform's own fields. Default: asks have buttons or are answered by text. */
  readonly forms?: boolean | undefined
  /**
   * Posts can be silent. Default true. If false, every post notifies, so a status goes below text. It has a message of
   * its own only after `Policy.heartbeatMs` of silence, and that becomes the answer.
   */
  readonly silent?: boolean | undefined
  /** What the platform takes as files, if the port has `upload`. Default: one file of at most 5 MB in a post. */
  readonly files?: FileLimits | undefined
  /** Formats a line as Markdown that `Render` shows small: a status, a note, a tool call. Default: emphasised. */
  readonly small?: ((line: string) => string) | undefined
  /** The platform ignores a second post with the same key, so a post with an unknown result is repeated. */
  readonly idempotent: boolean
  /**
   * With `idempotent`: how long the platform remembers a key, in ms. A post that is retried later than that may be there
   * twice and counts as doubtful. Default: no limit.
   */
  readonly keyMs?: number | undefined
}

/** A number of calls per interval, in ms. */
export interface Budget {
  /** The most calls within any `perMs`. */
  readonly calls: number
  /** In ms. */
  readonly perMs: number
}

/** The kinds of calls that a platform may count separately. */
export const callKinds = [
  'post',
  'edit',
  'remove',
  'look-up',
  'preview',
  'open',
  'append',
  'close',
  'react',
  'session',
] as const

/**
 * The kind of a call, by the method of `ChannelPort`. `post` includes `upload` and `uploadAlbum`. `preview` is a preview's `write`. `open`,
 * `append` and `close` are those of a stream. `session` tells the platform whether the agent works, if that is not the typing
 * notice itself. The port makes such calls, and paces them.
 */
export type CallKind = (typeof callKinds)[number]

/** The budget of one kind of calls. */
export interface KindBudget extends Budget {
  /** `chat`: each chat has it. `client`: all chats of a client share it. */
  readonly scope: 'chat' | 'client'
}

/** A platform's limits for files. */
export interface FileLimits {
  /** The most bytes of a file. */
  readonly maxBytes: number
  /** The most files of one post, if the port has `uploadAlbum`. Default 1. */
  readonly perPost?: number | undefined
  /** The most bytes of all files of one post. Default: `maxBytes`. */
  readonly postBytes?: number | undefined
}

/** The limits of files where a platform names none. */
export const defaultFileLimits: FileLimits = { maxBytes: 5_000_000 }

/** A platform's limits for buttons. */
export interface ButtonLimits {
  /** The maximum number of buttons in a row. */
  readonly perRow: number
  /** The maximum number of rows below a message. */
  readonly rows: number
  /** The maximum length of a label, in UTF-16 units. */
  readonly label: number
  /** The maximum size of a button's `data`, in bytes. */
  readonly data: number
  /** How long a message with buttons may be, in the unit that `Render` measures. Default: `Limits.maxLength`. */
  readonly maxLength?: number | undefined
}

/** Throws `too-long` for more than `maxLength` UTF-16 units, so that the sink posts shorter pieces. */
export function requireLength(text: string, maxLength: number): void {
  const { length } = text
  if (length > maxLength)
    throw new PortError('too-long', `${length} UTF-16 units are too many; the maximum is ${maxLength}.`)
}

/** Throws a `FileRefusal` for a file with more bytes than the platform takes, or without any. */
export function requireFileSize({ name, bytes }: Attachment, { maxBytes }: FileLimits): void {
  const { length } = bytes
  if (length > maxBytes) throw tooLargeForChat(name, length, maxBytes)
  if (length === 0) throw new FileRefusal('refused', `The file ${name} is empty.`)
}

/** The refusal for a file with this many bytes. */
export function tooLargeForChat(name: string, length: number, maxBytes: number): FileRefusal {
  const sizes = `it has ${byteSize(length)}, and this chat takes at most ${byteSize(maxBytes)}`
  return new FileRefusal('too-long', `The file ${name} is too large: ${sizes}.`)
}
