import { createSink, type Sink, type Texts } from '@reply/sink'
import type { ChannelSinkOptions } from '@reply/sink/channel'
import { pacerOf, systemClock } from '@reply/sink/internal'
import { renderWhatsApp } from '../render.ts'
import { type BaileysSource, chatOf } from './api.ts'
import { createBaileysPort } from './port.ts'

/** Options of `baileysSink`. */
export interface BaileysSinkOptions extends ChannelSinkOptions {
  /**
   * A socket of `makeWASocket()`, or a function that returns the current one. Sinks on the same one share its rate
   * limits.
   */
  readonly socket: BaileysSource
  /** The person or group to write to. */
  readonly jid: string
  /**
   * The message to reply to, and to mark as read: its id, a slash and its author, as in an inbound's `messageRef.id`.
   */
  readonly replyTo?: string | undefined
  /** Default: English. Questions name the numbers that answer them. */
  readonly texts?: Partial<Texts> | undefined
}

/**
 * Without buttons, people answer by number, in groups only by a reply to the message. Each number always means the
 * same.
 */
export const baileysWords: Partial<Texts> = {
  replyPermission: (always) =>
    `Reply to this message with 1 to allow it once${always ? ', 2 to allow it always' : ''}, or 3 to reject it. You can also write "reject" and a reason.`,
  replyReject: 'Reply to this message with 3 to reject it.',
}

/** Shows replies in one chat of a linked device. Throws `SinkError` of type `invalid` for an unusable policy. */
export function baileysSink(options: BaileysSinkOptions): Sink {
  const { socket, jid, replyTo, texts, timeoutMs, clock = systemClock } = options
  return createSink({
    ...options,
    port: createBaileysPort({ socket, jid, replyTo, timeoutMs, clock }),
    render: renderWhatsApp,
    chat: chatOf(jid),
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer: pacerOf(socket, clock),
    texts: { ...baileysWords, ...texts },
  })
}
