import type { Actor } from '../port/actor.ts'
import type { Chat, Form, MessageRef } from '../port/port.ts'

/** Sends a short reply to the person. Calls after the first do nothing. Never rejects. */
export type AnswerInbound = (text?: string) => Promise<void>

/** A file that a person sent. */
export interface InboundFile {
  /**
   * Identifies the file for `download`. Serialisable. Keep it as private as the file, because on WhatsApp it contains the
   * file's key. Files expire on most platforms.
   */
  readonly ref: string
  /**
   * The file name that the platform reports, or a generated one, for example `photo.jpg`. It is text of a person: it may be a path, or have
   * line breaks. Never store a file by it.
   */
  readonly name: string
  /** The media type that the platform reports, for example `image/png`. Not checked against the content. */
  readonly mime: string
  /** In bytes. Absent if the platform doesn't say. */
  readonly size?: number | undefined
  /** How long a recording is, in seconds, as the platform says. Not checked against the content. Absent if the platform doesn't say. */
  readonly seconds?: number | undefined
}

/** An action of a person in a chat: a text, a press of a button or form, or the platform's Stop button. */
export type Inbound =
  | {
      readonly type: 'text'
      /** Where it happened. */
      readonly chat: Chat
      /** The person who did it. */
      readonly actor: Actor
      /** The text without the mention of the bot. Empty for a message that only has files. */
      readonly text: string
      /** The text mentions the bot. */
      readonly isMention?: true | undefined
      /** The person's message. Its `postedAt` decides which asks the text may answer: only those shown before it. */
      readonly messageRef: MessageRef
      /**
       * The message that the person chose to reply to. Absent if the platform filled it in, for example with the first
       * message of a topic.
       */
      readonly replyTo?: MessageRef | undefined
      /** The message replied to is the bot's. Absent if not, or if the platform doesn't say. */
      readonly repliesToBot?: true | undefined
      /** Files sent with the text. Absent if there are none, and on channels that can't read them. */
      readonly files?: readonly InboundFile[] | undefined
      /** The same for all messages of an album, which platforms deliver one by one. */
      readonly albumID?: string | undefined
      /**
       * Set if the platform doesn't tell its albums, and all files of a chat have the same `albumID`: those that were sent further apart
       * than that, in ms, are not of one album.
       */
      readonly albumSpreadMs?: number | undefined
      /** How long to wait for the next message of the album, in ms. Default 1000, because most platforms deliver all at once. */
      readonly albumGapMs?: number | undefined
      /** The text was forwarded, scheduled, or sent by a bot. It never answers an ask. */
      readonly isForwarded?: true | undefined
      /** The text begins with a command, for example `/stop`. It never answers an ask. */
      readonly isCommand: boolean
      /** Sends a message that replies to theirs. */
      readonly answer: AnswerInbound
    }
  | {
      readonly type: 'press'
      /** Where it happened. */
      readonly chat: Chat
      /** The person who did it. */
      readonly actor: Actor
      /** The `data` of the button, the `token` of the form, or the id of another control that you posted. */
      readonly token: string
      /**
       * The button or other control is your own, not one of an ask. The channel doesn't answer the press, so you must
       * call `answer`.
       */
      readonly isForeign?: true | undefined
      /** The picked and written answers of each question of a form. For your own control, one list with all of them. */
      readonly values?: readonly (readonly string[])[] | undefined
      /** The message with the button. */
      readonly messageRef: MessageRef
      /** The platform shows the press as the person's message, so only errors need a reply. */
      readonly isMessage?: true | undefined
      /**
       * Opens a dialog with these questions, on platforms with dialogs. The submission arrives as a press with `values`.
       * Counts as the call of `answer`.
       */
      readonly open?: ((form: Form) => Promise<void>) | undefined
      /** Shows a notice, only to this person if the platform can. Called without text if you don't call it. */
      readonly answer: AnswerInbound
    }
  /** The platform's own Stop button: abort everything that runs in that chat. */
  | { readonly type: 'stop'; readonly chat: Chat; readonly actor: Actor }
