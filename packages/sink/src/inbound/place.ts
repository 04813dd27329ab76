import type { Chat, MessageRef } from '../port/port.ts'
import type { Inbound } from './inbound.ts'

/** Where a sink writes, and the message that its answer replies to. */
export interface SinkPlace {
  readonly chat: Chat
  readonly replyTo?: MessageRef | undefined
}

export interface BoundPlace extends SinkPlace {
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
