import type { Actor, Chat, InboundFile, MessageRef } from '@reply/sink'
import type { ChannelActor } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'

/** How long an album waits for its next message, in ms. */
export const albumMs = 1000

/** What a person wrote, as it is written down before the platform is told that it was taken. */
export interface QueuedPrompt extends ChatPlace {
  /** The message's id on the platform: unique in its chat. */
  readonly id: string
  readonly chat: Chat
  readonly actor: Actor
  /** The others who changed the text while it waited: it takes the rights of all of them. */
  readonly editors?: readonly ChannelActor[] | undefined
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
  /** When it, or the last message of its album, was heard, in ms since the epoch. */
  readonly receivedAt: number
  /** It was backlog when it was heard. */
  readonly isOld?: true | undefined
  /** Begun before, and the process died meanwhile. */
  readonly isTried?: true | undefined
  /** It was on its way to the server as an answer to an ask: it must not run as a prompt. */
  readonly isAnswer?: true | undefined
  /** It goes into the running turn instead of waiting for its end. */
  readonly isSteer?: true | undefined
  /** It is backlog that the policy did not run: it waits to be chosen. `listed` once the chat was shown so. */
  readonly left?: 'decided' | 'listed' | undefined
}

/** Whose words it has. */
export function namesOf({ actor, editors = [] }: Pick<QueuedPrompt, 'actor' | 'editors'>): string {
  return [actor, ...editors.map((editor) => editor.actor)].map(({ name }) => name).join(', ')
}

/** How long an album may still get messages, in ms. 0 for others. */
export function leftToGather({ albumID, receivedAt }: QueuedPrompt, now: number): number {
  return albumID === undefined ? 0 : Math.max(0, Math.min(albumMs, receivedAt + albumMs - now))
}

/** How much the times of platforms, in whole seconds, and those of this computer may differ, in ms. */
const inexactMs = 2000

/** Whether it was surely sent before what has that age, in ms, by the time that platforms tell. */
export function isOlder(
  { messageRef: { postedAt } }: QueuedPrompt,
  { now, ageMs }: { readonly now: number; readonly ageMs: number },
): boolean {
  return postedAt !== undefined && now - postedAt > ageMs + inexactMs
}
