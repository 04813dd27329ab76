import { type Clock, systemClock } from '@reply/core'
import { safeOnError } from '@reply/core/internal'
import type { LedgerStore } from '../ledger/ledger.ts'
import type { Actor } from '../port/actor.ts'
import type { Chat, MessageRef } from '../port/port.ts'
import type { ChannelSinkOptions } from '../sink.ts'
import type { Inbound } from './inbound.ts'

/** Options that all channels share: how they receive, and the defaults of their sinks. */
export interface ChannelOptions extends Omit<ChannelSinkOptions, 'onError' | 'answerers' | 'store'> {
  /**
   * Called once for each action of a person, in order. It may take any time, and may wait for the person's next action,
   * because a text waits at most `handleMs` for the earlier texts of its chat and nothing else waits. Errors that it
   * throws go to `onError`. `id` is the same if the platform delivers the action again.
   */
  readonly onInbound: (inbound: Inbound, id: string) => unknown
  /**
   * Stores what the chats show, and the ids of the last 1,000 inbounds for two days, so that nothing is posted or handled
   * twice after a restart. Each bot needs its own store. Default: in memory.
   */
  readonly store?: LedgerStore | undefined
  /** Receives the errors that the channel and its sinks recovered from. Default: errors are dropped. */
  readonly onError?: ((error: Error) => void) | undefined
  /**
   * Whether messages that only have files are passed on, with an empty text. Default false: they are dropped, so you can
   * use each text as a prompt without a check.
   */
  readonly onlyFiles?: boolean | undefined
  /**
   * How long the next text of the chat, `stop()`, and the acknowledgement to the platform wait for `onInbound`, in ms.
   * Default 5,000.
   */
  readonly handleMs?: number | undefined
}

/** The channel's options that its receiver uses, with defaults filled in. */
export interface InboundOptions extends Pick<ChannelOptions, 'onInbound' | 'timeoutMs' | 'store' | 'onlyFiles'> {
  /** Never throws. */
  readonly onError: (error: Error) => void
  /** The source of all times and timers. */
  readonly clock: Clock
  /** How long the acknowledgement of an action waits for `onInbound`, in ms. */
  readonly handleMs: number
}

/** Picks the receiver's options from a channel's options, and fills in the defaults. */
export function inboundOptionsOf(options: ChannelOptions): InboundOptions {
  const { onInbound, clock = systemClock, handleMs = 5000, timeoutMs, store, onlyFiles } = options
  return { onInbound, onError: safeOnError(options.onError), clock, handleMs, timeoutMs, store, onlyFiles }
}

/** The chat that a sink writes in, and the message that its answer replies to. */
export interface SinkPlace {
  /** The chat to write in. */
  readonly chat: Chat
  /** The message to reply to. Default: none. */
  readonly replyTo?: MessageRef | undefined
  /** Who wrote that message. Slack shows a stream in a channel to one person. Default: the last author that is known. */
  readonly author?: Actor | undefined
}

/** A place with the people who may answer there. */
interface BoundPlace extends SinkPlace {
  /** Ids of the only actors who may answer. Undefined if the place has no actor. */
  readonly answerers?: readonly string[] | undefined
}

/**
 * Returns the place of a sink. For an inbound text, the answer replies to it. For any inbound, only its actor may
 * answer asks, and none may if the actor is anonymous.
 */
export function placeOf(at: SinkPlace | Inbound): BoundPlace {
  if (!('type' in at)) return { chat: at.chat, replyTo: at.replyTo, author: at.author }
  // A press belongs to a message of the bot, and Stop to no message, so the answer replies to neither.
  const replyTo = at.type === 'text' ? at.messageRef : undefined
  return { chat: at.chat, replyTo, author: at.actor, answerers: at.actor.isAnonymous ? [] : [at.actor.id] }
}
