import type { Limits } from './limits.ts'

/** Where messages go: a chat, and in it a thread or topic if it has those. */
export interface Chat {
  readonly id: string
  readonly thread?: string | undefined
  /**
   * `private`: one person and the bot. `shared`: several people can write. Channels set it when the id or an inbound message
   * tells. Default: shared, which allows less.
   */
  readonly kind?: ChatKind | undefined
}

export type ChatKind = 'private' | 'shared'

/** A message on the platform, as the channel names it. Goes through JSON. */
export interface MessageRef {
  readonly id: string
  /** When it was posted, by the platform's clock, in ms since the epoch. Absent if the platform does not tell. */
  readonly postedAt?: number | undefined
}

export interface Button {
  readonly label: string
  /** What comes back when it is pressed: short, and nobody can guess it. */
  readonly data: string
}

/** All that is left of an ask at once, for platforms with selects and dialogs: `{ token, values }` is what comes back. */
export interface Form {
  /** Short, and nobody can guess it. */
  readonly token: string
  /** For what opens it. */
  readonly label: string
  /** `values` has for each of them what was picked or written; one at least. */
  readonly questions: readonly FormQuestion[]
}

export interface FormQuestion {
  /** In Markdown no more: as it is written. May be empty. */
  readonly header: string
  readonly question: string
  readonly options: readonly { readonly label: string; readonly description: string }[]
  /** Several options may be picked. */
  readonly multiple: boolean
  /** Other words may be written. */
  readonly custom: boolean
}

/** A text as the platform takes it. */
export interface Rendered {
  /** In the platform's own dialect. */
  readonly text: string
  /** Without any markup, for when that is refused. */
  readonly plain: string
  /** In what `Limits.maxLength` counts. */
  readonly length: number
}

/** Makes Markdown the platform's own. Pure; the same source gives the same text. */
export type Render = (source: string) => Rendered

/** What one message shows. */
export interface Bubble extends Rendered {
  /** The Markdown it was rendered from, whole in itself: carried fences and lists are reopened and closed. */
  readonly source: string
  /** Its markup was refused: `text` is `plain`, and goes out as it is. */
  readonly isPlain: boolean
  readonly buttons: readonly (readonly Button[])[]
  /** Where `Limits.forms` says so, and buttons alone would not do. */
  readonly form?: Form | undefined
}

/** A file to post: the text of what is too long for a message. Ports declare it as `text/plain`, whatever its name. */
export interface Attachment {
  /** From a sink: with one dot and an extension that desktops open as text. */
  readonly name: string
  readonly text: string
  /** A line of words to it. */
  readonly caption: string
}

export interface PostOptions {
  readonly chat: Chat
  readonly replyTo?: MessageRef | undefined
  /** Nobody's phone rings for it. */
  readonly silent: boolean
  /** The same for each try of one post: whoever is idempotent gives it to the platform. At most 32 characters. */
  readonly key: string
  readonly signal: AbortSignal
}

export interface EditOptions {
  readonly chat: Chat
  readonly signal: AbortSignal
}

export interface TypingOptions extends EditOptions {
  /** What it is doing, in words, for platforms that say so. */
  readonly doing?: string | undefined
}

/**
 * A channel's hands: they do one thing at a time and remember nothing. Only `post` is required; what is missing is done
 * without. All reject with a `PortError` that says what kind of failure it is: the sink deals with each by its kind.
 */
export interface ChannelPort {
  readonly limits: Limits
  post(bubble: Bubble, options: PostOptions): Promise<MessageRef>
  /** What the message shows already, too, is shown by it afterwards: "not modified" is success. */
  edit?(ref: MessageRef, bubble: Bubble, options: EditOptions): Promise<void>
  /** A message that is gone already is success. */
  remove?(ref: MessageRef, options: EditOptions): Promise<void>
  /** `false` where a notice must be taken back; those that go out by themselves ignore it. */
  typing?(on: boolean, options: TypingOptions): Promise<void>
  upload?(file: Attachment, options: PostOptions): Promise<MessageRef>
  /** A sign on a message of a person's: it was taken, it is done. Undefined takes it back. */
  react?(ref: MessageRef, sign: 'seen' | 'done' | undefined, options: EditOptions): Promise<void>
  readonly stream?: NativeStream | undefined
}

/** How the platform itself shows a text that grows. */
export type NativeStream = PreviewStream | AppendStream

/** Until a message comes: it never counts as shown, and nothing is left of it. */
export interface PreviewStream {
  readonly kind: 'preview'
  /** It disappears by itself after so long, in ms, and is written again before. */
  readonly renewMs: number
  write(bubble: Bubble, options: EditOptions): Promise<void>
}

/**
 * A message that is added to, and stays: what was said in it stays said until it is closed, and can be edited then. What is
 * added is what `Render` makes more of the longer text: so it should only add at the end, or the message is closed and
 * edited. `fixed`: the platform closed it by itself; the sink edits it to the whole, and goes on in another one.
 */
export interface AppendStream {
  readonly kind: 'append'
  /** It is closed after so long, in ms, and another one goes on. */
  readonly maxMs: number
  /** What one takes in all, in what `measure` counts of a rendered text: never less of more of it. */
  readonly maxLength: number
  measure(text: string): number
  open(piece: StreamPiece, options: PostOptions): Promise<MessageRef>
  append(ref: MessageRef, piece: StreamPiece, options: EditOptions): Promise<void>
  close(ref: MessageRef, piece: StreamPiece, options: EditOptions): Promise<void>
}

/** What is added. */
export interface StreamPiece {
  /** Of a bubble's `text`; may be cut anywhere, and empty. */
  readonly text: string
  /** What is being done and was not told so yet. */
  readonly tasks: readonly Task[]
  /** Where the checklist stands, if that is another place now. */
  readonly plan?: string | undefined
}

/** A tool at work. */
export interface Task {
  readonly id: string
  readonly title: string
  readonly status: 'pending' | 'running' | 'done' | 'failed'
}

/**
 * - `rate-limited`: nothing was done; again after `retryAfterMs`, in the scope named.
 * - `refused`: nothing was done, and never will be: it may not, or it makes no sense.
 * - `unreachable`: nothing was done; the same may go another time.
 * - `gone`: the message, or for a post the chat, is not there any more.
 * - `fixed`: the message is there and cannot be edited any more.
 * - `too-long`: nothing was done; in parts it may go.
 * - `unparsable`: nothing was done; without markup it may go.
 * - `ambiguous`: nobody knows whether it was done.
 */
export type PortErrorType =
  | 'rate-limited'
  | 'refused'
  | 'unreachable'
  | 'gone'
  | 'fixed'
  | 'too-long'
  | 'unparsable'
  | 'ambiguous'

export interface PortErrorOptions extends ErrorOptions {
  /** With `rate-limited`. */
  readonly retryAfterMs?: number | undefined
  /** What else waits until then. Default `chat`. */
  readonly scope?: 'chat' | 'client' | undefined
}

/** Why a port's call failed. No message carries a token. */
export class PortError extends Error {
  override readonly name = 'PortError'
  readonly type: PortErrorType
  readonly retryAfterMs: number | undefined
  readonly scope: 'chat' | 'client'

  constructor(type: PortErrorType, message: string, options: PortErrorOptions = {}) {
    super(message, options)
    this.type = type
    this.retryAfterMs = options.retryAfterMs
    this.scope = options.scope ?? 'chat'
  }
}
