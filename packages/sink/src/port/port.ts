import type { Actor } from './actor.ts'
import type { Limits } from './limits.ts'
import type { PortError } from './port-error.ts'

/** Where messages go: a chat, and a thread or topic within it where the platform has them. */
export interface Chat {
  /** The platform's own id of the chat. */
  readonly id: string
  /** The platform's own id of a thread or topic in it. Absent: the chat itself. */
  readonly thread?: string | undefined
  /** The chat is a thread itself, on platforms where a thread is a chat with its own id. Absent otherwise, or if unknown. */
  readonly isThread?: true | undefined
  /**
   * `private`: one person and the bot. `shared`: several people can write. Channels set it when the id or an inbound
   * message says which. Default: shared, which allows less.
   */
  readonly kind?: ChatKind | undefined
}

/** How many people can write in a chat. */
export type ChatKind = 'private' | 'shared'

/** A message on the platform, as the channel identifies it. Serialisable as JSON. */
export interface MessageRef {
  /** The platform's own id, unique in its chat. */
  readonly id: string
  /** When it was posted, by the platform's clock, in ms since the epoch. Absent if the platform does not say. */
  readonly postedAt?: number | undefined
}

/** A button below a message. */
export interface Button {
  /** Plain text, at most `ButtonLimits.label` long. */
  readonly label: string
  /** Returned when the button is pressed: short and impossible to guess. */
  readonly data: string
}

/**
 * All unanswered questions of an ask at once, for platforms with selects and dialogs. A submission returns `{ token,
 * values }`.
 */
export interface Form {
  /** Short and impossible to guess. */
  readonly token: string
  /** Label of the control that opens the form. */
  readonly label: string
  /** At least one. A submission's `values` holds, for each question, what was picked or written. */
  readonly questions: readonly FormQuestion[]
}

/** One question of a form. */
export interface FormQuestion {
  /** Plain text, without Markdown. May be empty. */
  readonly header: string
  /** The whole question, plain text. */
  readonly question: string
  /** In the order to show. Empty if only free text is expected. */
  readonly options: readonly { readonly label: string; readonly description: string }[]
  /** Several options may be picked. */
  readonly multiple: boolean
  /** A free-text answer is allowed. */
  readonly custom: boolean
}

/** A text as the platform accepts it. */
export interface Rendered {
  /** In the platform's own markup. */
  readonly text: string
  /** Without markup, for when the platform refuses the markup. */
  readonly plain: string
  /** In the unit that `Limits.maxLength` counts. */
  readonly length: number
}

/** Converts Markdown to the platform's markup. Pure: the same source gives the same text. */
export type Render = (source: string) => Rendered

/** What one message shows. */
export interface Bubble extends Rendered {
  /**
   * The Markdown it was rendered from, valid on its own: fences and lists that span messages are reopened and closed.
   */
  readonly source: string
  /** The platform refused its markup: `text` equals `plain` and is sent unformatted. */
  readonly isPlain: boolean
  /** Rows of buttons, from the top. Empty if it has none. */
  readonly buttons: readonly (readonly Button[])[]
  /**
   * The people to notify, above the text on a line of their own, in the platform's markup. Nothing else in a message
   * may notify. Ports of platforms that can't mention a person leave it out. Default: none.
   */
  readonly mentions?: readonly Actor[] | undefined
  /** Set where `Limits.forms` is true and buttons alone are not enough. */
  readonly form?: Form | undefined
}

/** A file to post: text that is too long for a message. Ports declare it as `text/plain`, whatever its name. */
export interface Attachment {
  /** From a sink: one dot and an extension that desktops open as text. */
  readonly name: string
  /** The content of the file, UTF-8 once sent. */
  readonly text: string
  /** A line of text to show with the file. */
  readonly caption: string
}

/** Where and how to post a message. */
export interface PostOptions {
  /** The chat to post in. */
  readonly chat: Chat
  /** The message to reply to. If that is gone, the port posts without it. */
  readonly replyTo?: MessageRef | undefined
  /** Posts without a notification. */
  readonly silent: boolean
  /** The same for each try of one post. Idempotent platforms take it as their key. At most 32 characters. */
  readonly key: string
  /** Aborts when the sink was stopped and waits no longer for the call: see `callPlatform`. */
  readonly signal: AbortSignal
}

/** Where the message to change is. */
export interface EditOptions {
  /** The chat of the message. */
  readonly chat: Chat
  /** Aborts when the sink was stopped and waits no longer for the call: see `callPlatform`. */
  readonly signal: AbortSignal
}

/** Where the agent is at work, and at what. */
export interface TypingOptions extends EditOptions {
  /** What the agent is doing, for platforms whose typing notice can say so. */
  readonly doing?: string | undefined
}

/** The post to look for. */
export interface LookUpOptions extends EditOptions {
  /** Its `PostOptions.key`. */
  readonly key: string
  /** How it was posted: by `post`, by `upload`, or by the `open` of a stream. */
  readonly kind: 'message' | 'file' | 'stream'
  /** When it was tried last, in ms since the epoch. */
  readonly since: number
  /** The message that asked, if any: the post may reply to it. */
  readonly replyTo?: MessageRef | undefined
}

/** Whether a post is in the chat. `unknown`: the platform can't tell. */
export type LookedUp =
  | { readonly type: 'there'; readonly ref: MessageRef }
  | { readonly type: 'absent' }
  | { readonly type: 'unknown' }

/**
 * What the platform said of a message after its post:
 * - `there`: it is in the chat.
 * - `failed`: it can't be delivered. The error says why.
 * - `held`: it was not delivered, because the chat takes none at the moment. The sink posts it again when it does.
 */
export type PostReport =
  | { readonly type: 'there'; readonly ref: MessageRef }
  | { readonly type: 'held'; readonly ref: MessageRef }
  | { readonly type: 'failed'; readonly ref: MessageRef; readonly error: PortError }

/** What a platform says of a chat's posts by requests of its own, such as WhatsApp's status webhooks. */
export interface PostReports {
  /**
   * The newest report of each message that was posted with that `PostOptions.key`. Empty as long as there is none. It
   * settles a post with an unknown result only if the port has `lookUp`, which waits for it.
   */
  of(key: string): readonly PostReport[]
  /** The chat takes no messages until a person writes there: the sink makes no calls and keeps what it has to show. */
  isClosed(): boolean
  /**
   * How long after its post a report of a message may take, in ms. A reply does not count as shown before its messages
   * are reported or that time is over. 0 if the program gets no reports.
   */
  withinMs(): number
  /** Calls the listener after each change. Returns a function that ends it. The sink listens until its reply is over. */
  observe(listener: () => void): () => void
}

/**
 * Stateless platform adapter. Calls are sequential. Only `post` is required; the sink works without the other members.
 * All reject with a `PortError`, whose type decides how the sink handles the failure.
 */
export interface ChannelPort {
  /** What the platform allows. */
  readonly limits: Limits
  /** Posts a message and resolves with its reference. */
  post(bubble: Bubble, options: PostOptions): Promise<MessageRef>
  /** "Not modified" counts as success. */
  edit?(ref: MessageRef, bubble: Bubble, options: EditOptions): Promise<void>
  /** Succeeds if the message is already gone. */
  remove?(ref: MessageRef, options: EditOptions): Promise<void>
  /** `false` withdraws a notice on platforms where it does not expire; other ports ignore it. */
  typing?(on: boolean, options: TypingOptions): Promise<void>
  /** Posts a file with its caption as one message. Without it, all text goes into messages. */
  upload?(file: Attachment, options: PostOptions): Promise<MessageRef>
  /**
   * Finds out whether a post with an unknown result is in the chat. Resolves only when the platform answers, and rejects
   * as the others do until then: the sink calls it again, and posts nothing in between. After `unknown`, the sink posts
   * the message once more. Without this member it does so after a pause. Not called if `Limits.idempotent` is true.
   */
  lookUp?(options: LookUpOptions): Promise<LookedUp>
  /**
   * What the platform says of posts after it answered their calls. Without it, an accepted post counts as shown. Only for
   * platforms that accept what they may not deliver.
   */
  readonly reports?: PostReports | undefined
  /** A reaction to a person's message: seen or done. Undefined removes it. */
  react?(ref: MessageRef, sign: 'seen' | 'done' | undefined, options: EditOptions): Promise<void>
  /** The platform's own way to show growing text. Used with `Policy.delivery` `native`. */
  readonly stream?: NativeStream | undefined
}

/** How the platform itself shows growing text. */
export type NativeStream = PreviewStream | AppendStream

/** A preview shown until the next message is posted. It never counts as shown and leaves nothing behind. */
export interface PreviewStream {
  readonly kind: 'preview'
  /** The preview disappears after this time, in ms. The sink rewrites it before that. */
  readonly renewMs: number
  /** Shows the preview, or replaces its text. */
  write(bubble: Bubble, options: EditOptions): Promise<void>
}

/**
 * A message that can only be appended to until it is closed; after that it can be edited. What is appended is the
 * difference that rendering the longer text makes, so `Render` should only add at the end; otherwise the message is
 * closed and edited. `fixed`: the platform closed it; the sink edits it to the full text and continues in another
 * message.
 */
export interface AppendStream {
  readonly kind: 'append'
  /** The sink closes the stream after this time, in ms, and opens another. */
  readonly maxMs: number
  /** The most that one stream takes, in the unit of `measure`. A longer text must never measure less. */
  readonly maxLength: number
  /** The length of a text, in the unit of `maxLength`. */
  measure(text: string): number
  /** Posts a message as a stream, with its first text. */
  open(piece: StreamPiece, options: PostOptions): Promise<MessageRef>
  /** Adds to an open stream. */
  append(ref: MessageRef, piece: StreamPiece, options: EditOptions): Promise<void>
  /** Adds the last text and ends the stream. The message stays. */
  close(ref: MessageRef, piece: StreamPiece, options: EditOptions): Promise<void>
}

/** What is appended to a stream. */
export interface StreamPiece {
  /** Part of a bubble's `text`; may be cut anywhere, and may be empty. */
  readonly text: string
  /** Tasks whose current status was not sent yet. */
  readonly tasks: readonly Task[]
  /** The checklist's progress, if it changed. */
  readonly plan?: string | undefined
}

/** A tool call. */
export interface Task {
  /** The id of the part with the call: the same each time the task is sent. */
  readonly id: string
  /** One line, plain text. */
  readonly title: string
  /** How far the call got. */
  readonly status: 'pending' | 'running' | 'done' | 'failed'
  /** How it failed, or that a person or a rule denied it: one line of plain text. Absent otherwise. */
  readonly reason?: string | undefined
}
