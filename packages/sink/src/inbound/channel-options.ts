import { type Clock, systemClock } from '@reply/core'
import { safeOnError } from '@reply/core/internal'
import type { LedgerStore } from '../ledger/ledger.ts'
import type { Chat, MessageRef } from '../port/port.ts'
import type { ChannelSinkOptions } from '../sink.ts'
import type { Inbound } from './inbound.ts'

/** What the options of all channels have in common: both directions, and the defaults of the channel's sinks. */
export interface ChannelOptions extends Omit<ChannelSinkOptions, 'onError' | 'answerers' | 'store'> {
  /**
   * Called for each action of a person, in order and once. It may take any time, and may wait for a person's next
   * action: a text waits at most `handleMs` for the texts before it in its chat, and nothing else waits. What it throws goes
   * to `onError`.
   */
  readonly onInbound: (inbound: Inbound) => unknown
  /**
   * Stores what the chats show, and for two days the ids of the last 1,000 inbounds, so that after a restart nothing is
   * posted or handled twice. Channels of two bots need a store each. Default: in memory.
   */
  readonly store?: LedgerStore | undefined
  /** Receives the errors that the channel and its sinks recovered from. Default: errors are dropped. */
  readonly onError?: ((error: Error) => void) | undefined
  /**
   * Messages that only have files are passed on too, with an empty text. Default false: they are dropped, so that a host
   * that prompts with each text needs no check.
   */
  readonly onlyFiles?: boolean | undefined
  /**
   * How long the next text of the chat, `stop`, and telling the platform that an action was taken wait for `onInbound`,
   * in ms. Default 5,000.
   */
  readonly handleMs?: number | undefined
}

/** What the receiver of each channel needs of the channel's options. */
export interface InboundOptions extends Pick<ChannelOptions, 'onInbound' | 'timeoutMs' | 'store' | 'onlyFiles'> {
  /** Never throws. */
  readonly onError: (error: Error) => void
  /** The source of all times and timers. */
  readonly clock: Clock
  /** How long an action waits for `onInbound` until it counts as taken, in ms. */
  readonly handleMs: number
}

/** Fills in the defaults. */
export function inboundOptionsOf(options: ChannelOptions): InboundOptions {
  const { onInbound, clock = systemClock, handleMs = 5000, timeoutMs, store, onlyFiles } = options
  return { onInbound, onError: safeOnError(options.onError), clock, handleMs, timeoutMs, store, onlyFiles }
}

/** Where a sink writes, and the message that its answer replies to. */
export interface SinkPlace {
  /** The chat to write in. */
  readonly chat: Chat
  /** The message to reply to. Absent: the answer replies to none. */
  readonly replyTo?: MessageRef | undefined
}

/** A place with the people who may answer there. */
interface BoundPlace extends SinkPlace {
  /** Ids of the only actors who may answer. Undefined if the place has no actor. */
  readonly answerers?: readonly string[] | undefined
}

/** What `sinkFor(inbound)` of each channel means: reply to that message, and accept answers only from that actor. */
export function placeOf(at: SinkPlace | Inbound): BoundPlace {
  if (!('type' in at)) return { chat: at.chat, replyTo: at.replyTo }
  // A press belongs to a message of ours, and Stop to none, so the answer replies to neither.
  const replyTo = at.type === 'text' ? at.messageRef : undefined
  return { chat: at.chat, replyTo, answerers: at.actor.isAnonymous ? [] : [at.actor.id] }
}
