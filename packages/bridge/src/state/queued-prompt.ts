import type { Actor, Chat, InboundFile, MessageRef } from '@reply/sink'
import type { ChannelActor } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Tried } from './tried.ts'

/** How long an album waits for its next message, in ms. */
export const albumMs = 1000

/** A message of a person, as it is stored before the platform gets its acknowledgement. */
export interface QueuedPrompt extends ChatPlace, Tried {
  /** The message's id on the platform: unique in its chat. */
  readonly id: string
  readonly chat: Chat
  readonly actor: Actor
  /** Other people who edited the queued text. The prompt requires the rights of all of them. */
  readonly editors?: readonly ChannelActor[] | undefined
  /** Without the mention of the bot. */
  readonly text: string
  readonly files: readonly InboundFile[]
  readonly isCommand: boolean
  readonly isForwarded?: true | undefined
  /** The message, with the platform's time if it has one. */
  readonly messageRef: MessageRef
  /** The message that the person chose to reply to. */
  readonly replyTo?: MessageRef | undefined
  /** The same for all messages of an album. */
  readonly albumID?: string | undefined
  /** When the message, or the last one of its album, was received, in ms since the epoch. */
  readonly receivedAt: number
  /** Set if the message was backlog when it was received. */
  readonly isOld?: true | undefined
  /** Set before it is sent to the server as an answer to an ask. It must then not run as a prompt. */
  readonly isAnswer?: true | undefined
  /** Set if it steers the running turn instead of waiting for its end. */
  readonly isSteer?: true | undefined
  /** Set if it is backlog that the policy did not run. `listed`: the chat has a list with it, so people can choose it. */
  readonly left?: 'decided' | 'listed' | undefined
}

/** Returns the names of the author and the editors, separated by commas. */
export function authorNames({ actor, editors = [] }: Pick<QueuedPrompt, 'actor' | 'editors'>): string {
  return [actor, ...editors.map((editor) => editor.actor)].map(({ name }) => name).join(', ')
}

/**
 * Returns how long to wait for more messages of an album, in ms, if its last one has been known for that long. 0 without an
 * album.
 */
export function albumWaitMs({ albumID }: QueuedPrompt, knownForMs: number): number {
  return albumID === undefined ? 0 : Math.max(0, albumMs - knownForMs)
}

/** How much the times of platforms, which are whole seconds, may differ from this computer's, in ms. */
const clockToleranceMs = 2000

/**
 * Whether a prompt was surely sent more than `ageMs` before `now`, and so before a run that it must not steer: by the
 * platform's time, with `clockToleranceMs` to spare. False if the platform told no time.
 */
export function isSurelyOlder({ messageRef: { postedAt } }: QueuedPrompt, ageMs: number, now: number): boolean {
  return postedAt !== undefined && now - postedAt > ageMs + clockToleranceMs
}
