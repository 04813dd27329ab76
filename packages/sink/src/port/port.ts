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

/** The content of one message. */
export interface Bubble extends Rendered {
  /** The Markdown it was rendered from, valid on its own: fences and lists that span messages are reopened and closed. */
  readonly source: string
  /** The platform refused its markup: `text` equals `plain` and is sent unformatted. */
  readonly isPlain: boolean
  /** Rows of buttons, from the top. Empty if it has none. */
  readonly buttons: readonly (readonly Button[])[]
  /**
   * People to notify, on a line of their own above the text. Nothing else in a message may notify. A port leaves them out
   * if its platform can't mention people. Default: none.
   */
  readonly mentions?: readonly Actor[] | undefined
  /** Set where `Limits.forms` is true and buttons alone are not enough. */
  readonly form?: Form | undefined
}

/** A file to post. */
export interface Attachment {
  /** From a sink: one dot, and an extension that desktops open as text or that belongs to `mime`. See `safeFileName`. */
  readonly name: string
  /**
   * Its media type, without parameters. From a sink: `text/plain` for each kind of text, also HTML and SVG. A port shows a
   * picture inline if the platform takes it as one, see `imageSize`, and everything else as a document.
   */
  readonly mime: string
  /** Its content. */
  readonly bytes: Uint8Array
  /** Plain text to show with the file, in one line. */
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
  /** The idempotency key: the same for each try of one post. At most 32 characters. */
  readonly key: string
  /** Aborts when the sink stops and no longer waits for the call: see `callPlatform`. */
  readonly signal: AbortSignal
}

/** Where to find the message to change. */
export interface EditOptions {
  /** The chat of the message. */
  readonly chat: Chat
  /** Aborts when the sink stops and no longer waits for the call: see `callPlatform`. */
  readonly signal: AbortSignal
}

/** Where to show the typing notice, and its text. */
export interface TypingOptions extends EditOptions {
  /** The agent's activity, for platforms whose typing notice can show a text. */
  readonly doing?: string | undefined
}

/** The post to look for. */
export interface LookUpOptions extends EditOptions {
  /** Its `PostOptions.key`. */
  readonly key: string
  /** How it was posted: by `post`, by `upload` or `uploadAlbum`, or by the `open` of a stream. */
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
 * The platform's report about a posted message:
 * - `there`: it is in the chat. With `mayFail`, the platform has taken it, and may still report that it can't be delivered.
 * - `failed`: it can't be delivered. The error says why.
 * - `chat-closed`: it was not delivered, because the chat is closed. The sink posts it again once the chat is open.
 */
export type PostReport =
  | { readonly type: 'there'; readonly ref: MessageRef; readonly mayFail?: true | undefined }
  | { readonly type: 'chat-closed'; readonly ref: MessageRef }
  | { readonly type: 'failed'; readonly ref: MessageRef; readonly error: PortError }

/** Delivery reports that arrive after a post, for example by WhatsApp's status webhooks. */
export interface PostReports {
  /**
   * The newest report for each message posted with that `PostOptions.key`. Empty until one arrives. A report resolves a
   * post with an unknown result only if the port has `lookUp`, which waits for it.
   */
  of(key: string): readonly PostReport[]
  /** Whether the chat takes no messages until a person writes there. Meanwhile the sink makes no calls and waits. */
  isClosed(): boolean
  /**
   * How long after a post its last report may arrive, in ms. A reply counts as shown when all its messages have a report that is not
   * `mayFail`, or that time has passed. 0 if no reports arrive.
   */
  withinMs(): number
  /** Calls the listener after each change, until the returned function is called. The sink listens until its reply ends. */
  observe(listener: () => void): () => void
}

/**
 * Stateless platform adapter. Calls are sequential. Only `limits` and `post` are required. All methods reject with a
 * `PortError`, and its type decides how the sink handles the failure.
 */
export interface ChannelPort {
  /** What the platform allows. */
  readonly limits: Limits
  /** Posts a message and resolves with its reference. */
  post(bubble: Bubble, options: PostOptions): Promise<MessageRef>
  /** Replaces the text and buttons of a message. "Not modified" counts as success. */
  edit?(ref: MessageRef, bubble: Bubble, options: EditOptions): Promise<void>
  /** Removes a message. Succeeds if it is already gone. */
  remove?(ref: MessageRef, options: EditOptions): Promise<void>
  /** Shows the typing notice. `false` hides it, on platforms where it does not expire. Other ports ignore `false`. */
  typing?(on: boolean, options: TypingOptions): Promise<void>
  /**
   * Posts a file with its caption as one message. Without it, all text goes into messages, and the chat only names the files of
   * a reply. Rejects with a `FileRefusal` if the platform doesn't take such a file.
   */
  upload?(file: Attachment, options: PostOptions): Promise<MessageRef>
  /**
   * Posts 2 to `FileLimits.perPost` files with their captions in one call. If the platform refuses one of them, none may be
   * posted: the sink then uploads each by itself. Resolves with the reference of the first message. Without it, each file is a
   * post of its own.
   */
  uploadAlbum?(files: readonly Attachment[], options: PostOptions): Promise<MessageRef>
  /**
   * Finds out whether a post with an unknown result is in the chat. Reject while the platform doesn't answer: the sink
   * then calls it again and posts nothing in between. After `unknown`, the sink posts the message once more. Without this
   * method it posts once more after a pause. Not called if `Limits.idempotent` is true.
   */
  lookUp?(options: LookUpOptions): Promise<LookedUp>
  /**
   * Delivery reports, for platforms that may accept a post and not deliver it. Without them, an accepted post counts as
   * shown.
   */
  readonly reports?: PostReports | undefined
  /** Sets a reaction on a person's message: seen or done. Undefined removes it. */
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
 * A message that can only be appended to until it is closed, and edited after that. The sink appends the difference
 * between two renderings. If `Render` changes earlier text, the sink closes the message and edits it. If the platform
 * closed it (`fixed`), the sink edits it to the full text and continues in another message.
 */
export interface AppendStream {
  readonly kind: 'append'
  /** The sink closes the stream after this time, in ms, and opens another. */
  readonly maxMs: number
  /** The maximum length of one stream, in the unit of `measure`. A longer text must never measure less. */
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

/** New content for a stream. */
export interface StreamPiece {
  /** Part of a bubble's `text`, cut at any position. May be empty. */
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
