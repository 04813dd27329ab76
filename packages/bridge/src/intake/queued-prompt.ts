import type { Actor, Chat, MessageRef } from '@reply/sink'
import type { InboundFile } from '@reply/sink/channel'
import type { ChatPlace } from '../place.ts'

/** What a person wrote, as it is written down before the platform is told that it was taken. */
export interface QueuedPrompt extends ChatPlace {
  /** The message's id on the platform: unique in its chat. */
  readonly id: string
  readonly chat: Chat
  readonly actor: Actor
  /** Without the mention of the bot. */
  readonly text: string
  readonly files: readonly InboundFile[]
  readonly isCommand: boolean
  readonly isForwarded?: true | undefined
  /** The message itself, with the platform's time if it tells one. */
  readonly messageRef: MessageRef
  /** The message that the person chose to reply to. */
  readonly replyTo?: MessageRef | undefined
  /** The same for all messages of an album. */
  readonly albumID?: string | undefined
  /** When it was heard, in ms since the epoch. */
  readonly heardAt: number
  /** Begun before, and the process died meanwhile. */
  readonly isTried?: true | undefined
  /** It goes into the running turn instead of waiting for its end. */
  readonly isSteer?: true | undefined
  /** It is backlog, and the chat was shown that it waits to be chosen. */
  readonly isListed?: true | undefined
}
