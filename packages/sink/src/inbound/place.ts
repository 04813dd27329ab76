import type { Chat, MessageRef } from '../port.ts'
import type { Inbound } from './inbound.ts'

/** Where a sink writes, and which message its answer replies to. */
export interface SinkPlace {
  readonly chat: Chat
  readonly replyTo?: MessageRef | undefined
}

export interface BoundPlace extends SinkPlace {
  /** Ids of the only actors who may answer. Undefined for a place that no actor came with. */
  readonly answerers?: readonly string[] | undefined
}

/** What `sinkFor(inbound)` of each channel means: reply to that message, and take answers from that actor alone. */
export function placeOf(at: SinkPlace | Inbound): BoundPlace {
  if (!('type' in at)) return { chat: at.chat, replyTo: at.replyTo }
  // A press is on a message of ours, and Stop on none: the answer replies to neither.
  const replyTo = at.type === 'text' ? at.messageRef : undefined
  return { chat: at.chat, replyTo, answerers: at.actor.isAnonymous ? [] : [at.actor.id] }
}
