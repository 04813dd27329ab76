import type { Actor } from '../port/actor.ts'
import type { Chat, Form, MessageRef } from '../port/port.ts'

/** Replies briefly to the person. Only the first call counts. Never rejects. */
export type AnswerInbound = (text?: string) => Promise<void>

/** A file that a person sent. */
export interface InboundFile {
  /**
   * How the channel finds the file again. Serialisable. Keep it as private as the file: on WhatsApp it has the file's
   * key. Files expire on most platforms.
   */
  readonly ref: string
  /** The name that the person's device gave it, or one made up from its kind. */
  readonly name: string
  /** The media type that the platform reports, such as `image/png`. Nothing checks it against the content. */
  readonly mime: string
  /** In bytes. Absent if the platform doesn't say. */
  readonly size?: number | undefined
}

/** What a person did in a chat. */
export type Inbound =
  | {
      readonly type: 'text'
      /** Where it happened. */
      readonly chat: Chat
      /** The person who did it. */
      readonly actor: Actor
      /** What the person wrote, without the mention of the bot. Empty for a message that only has files. */
      readonly text: string
      /** The text mentions the bot. */
      readonly isMention?: true | undefined
      /** With `postedAt` if the platform reports it: text answers only what was asked before it. */
      readonly messageRef: MessageRef
      /**
       * The message that the person chose to reply to. Not one that the platform fills in, such as a topic's first
       * message.
       */
      readonly replyTo?: MessageRef | undefined
      /** The message replied to is the bot's. Absent also where the platform doesn't say. */
      readonly repliesToBot?: true | undefined
      /** Files sent with the text. Absent if there are none, and on channels that can't read them. */
      readonly files?: readonly InboundFile[] | undefined
      /** The same for all messages of an album, which a platform delivers one by one. */
      readonly albumID?: string | undefined
      /** The text was forwarded, or not written now: scheduled, or a bot's. It answers nothing. */
      readonly isForwarded?: true | undefined
      /** It begins with a command, as in `/stop`. It answers nothing. */
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
      /** The `data` of the button, or the `token` of the form; for a control of the host's own, its id. */
      readonly token: string
      /**
       * The button, or another control of a message, is the host's own, not one of an ask. The channel doesn't answer the
       * press: the host does.
       */
      readonly isForeign?: true | undefined
      /** For each question of a form, what was picked or written; for a control of the host's own, in one list. */
      readonly values?: readonly (readonly string[])[] | undefined
      /** The message with the button. */
      readonly messageRef: MessageRef
      /** The platform shows the press as the person's message, so only errors need a reply. */
      readonly isMessage?: true | undefined
      /**
       * Opens a dialog with these questions, on platforms with dialogs. Its submission arrives as a press with
       * `values`. Counts as the reply.
       */
      readonly open?: ((form: Form) => Promise<void>) | undefined
      /** Shows a notice to that person alone, if the platform can. Sent without text if the host does not reply. */
      readonly answer: AnswerInbound
    }
  /** The platform's own Stop button: abort everything that runs in that chat. */
  | { readonly type: 'stop'; readonly chat: Chat; readonly actor: Actor }
