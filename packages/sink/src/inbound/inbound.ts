import type { Chat, Form, MessageRef } from '../port.ts'

/** Who did it. */
export interface Actor {
  /** What the platform knows them by. It is theirs alone, unlike the name. */
  readonly id: string
  /** As it is shown. People choose their own, so it proves nothing. */
  readonly name: string
  /** A chat posted it, not a known person: a channel, or an anonymous administrator. It can't answer asks. */
  readonly isAnonymous?: true | undefined
}

/** Tells the person who did it, briefly. Only the first time counts; never rejects. */
export type Answering = (text?: string) => Promise<void>

/** What a person did in a chat. */
export type Inbound =
  | {
      readonly type: 'text'
      readonly chat: Chat
      readonly actor: Actor
      readonly text: string
      /** With `postedAt` where the platform tells: words answer only what was asked before them. */
      readonly messageRef: MessageRef
      /** The message that the person chose to reply to. Not what the platform fills in by itself, such as a topic's first message. */
      readonly replyTo?: MessageRef | undefined
      /** The words are another message's, passed on, or were not written now: scheduled, or a bot's. They answer nothing. */
      readonly isForwarded?: true | undefined
      /** It begins with a command, as in `/stop`. It answers nothing. */
      readonly isCommand: boolean
      /** As a message that answers theirs. */
      readonly answer: Answering
    }
  | {
      readonly type: 'press'
      readonly chat: Chat
      readonly actor: Actor
      readonly token: string
      /** What was filled in, where it was a form: for each of its questions what was picked or written. */
      readonly values?: readonly (readonly string[])[] | undefined
      readonly messageRef: MessageRef
      /** The platform shows it as a message of theirs, so that an answer is needed for what went wrong alone. */
      readonly isMessage?: true | undefined
      /**
       * Opens a dialog with these questions in answer to it, where the platform has dialogs; what is filled in there comes
       * as a press with `values`. Counts as the answer.
       */
      readonly open?: ((form: Form) => Promise<void>) | undefined
      /** As a notice that the person alone sees, where there is one. It is done without words when nobody does it. */
      readonly answer: Answering
    }
  /** The platform's own Stop button: whatever runs in that chat is to be aborted. */
  | { readonly type: 'stop'; readonly chat: Chat; readonly actor: Actor }
