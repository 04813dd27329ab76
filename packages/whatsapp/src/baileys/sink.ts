import type { Clock } from '@reply/core'
import {
  createSink,
  type LedgerStore,
  type MayAnswer,
  type Policy,
  type Sink,
  type SinkError,
  type Words,
} from '@reply/sink'
import { pacerOf, systemClock } from '@reply/sink/channel'
import { renderWhatsApp } from '../render.ts'
import type { BaileysSource } from './api.ts'
import { chatOf } from './connection.ts'
import { createBaileysPort } from './port.ts'

/** Options of `baileysSink`. */
export interface BaileysSinkOptions {
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
  /** How replies are shown. Fields left out have the defaults of `Policy`. */
  readonly policy?: Partial<Policy> | undefined
  /** Default: English. Questions name the numbers that answer them. */
  readonly words?: Partial<Words> | undefined
  /**
   * Called for each press and each text that would answer. Only `true` lets the actor answer. Default: in a chat with
   * one person that person may answer; in a group permissions can't be allowed.
   */
  readonly mayAnswer?: MayAnswer | undefined
  /** Ids of the only users who may answer. `mayAnswer`, if given, must allow them as well. */
  readonly answerers?: readonly string[] | undefined
  /** Stores what the chat shows, so that a restart posts nothing twice. Default: in memory. */
  readonly store?: LedgerStore | undefined
  /** Default: errors are dropped. */
  readonly onError?: ((error: SinkError) => void) | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/**
 * Without buttons, people answer by number, in groups only by a reply to the message. Each number always means the
 * same.
 */
export const baileysWords: Partial<Words> = {
  replyPermission: (always) =>
    `Reply to this message with 1 to allow it once${always ? ', 2 to allow it always' : ''}, or 3 to reject it. You can also write "reject" and a reason.`,
  replyReject: 'Reply to this message with 3 to reject it.',
}

/** Shows replies in one chat of a linked device. Throws `SinkError` of type `invalid` for an unusable policy. */
export function baileysSink(options: BaileysSinkOptions): Sink {
  const { socket, jid, replyTo, policy, words, store, onError, clock = systemClock } = options
  return createSink({
    port: createBaileysPort({ socket, jid, replyTo, clock }),
    render: renderWhatsApp,
    chat: chatOf(jid),
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer: pacerOf(socket, clock),
    policy,
    words: { ...baileysWords, ...words },
    mayAnswer: options.mayAnswer,
    answerers: options.answerers,
    store,
    onError,
    clock,
  })
}
