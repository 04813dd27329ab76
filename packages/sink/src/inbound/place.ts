import type { Chat, MessageRef } from '../port/port.ts'
import type { Inbound } from './inbound.ts'

/** Where a sink writes, and the message that its answer replies to. */
export interface SinkPlace {
  /** The chat to write in. */
  readonly chat: Chat
  /** The message to reply to. Absent: the answer replies to none. */
  readonly replyTo?: MessageRef | undefined
}

/** A place with the people who may answer there. */
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
