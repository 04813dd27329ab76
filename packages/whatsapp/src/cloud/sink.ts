import type { Clock } from '@reply/core'
import {
  createSink,
  type LedgerStore,
  type MayAnswer,
  type Policy,
  pacerOf,
  type Sink,
  type SinkError,
  systemClock,
  type Words,
} from '@reply/sink'
import { renderWhatsApp } from '../render.ts'
import type { CloudClient } from './api.ts'
import { createCloudPort } from './port.ts'

/** For a sink to one person. */
export interface WhatsAppSinkOptions {
  /** `createCloudClient({ token, phoneNumberId })`. Sinks on one client share its pace. */
  readonly client: CloudClient
  /** Who it is written to: a number with its country, or a business-scoped user id. */
  readonly to: string
  /** The message that asked, a `wamid`: the answer answers it, and it shows that somebody writes. */
  readonly replyTo?: string | undefined
  /** Default: notices of tools every 60 s at most, a word after 3 min without any, code of more than 2,000 units as a file. */
  readonly policy?: Partial<Policy> | undefined
  readonly words?: Partial<Words> | undefined
  /**
   * Asked for each press and for words that would answer. Only `true` lets the actor answer. Default: the person who is
   * written to.
   */
  readonly mayAnswer?: MayAnswer | undefined
  /** Ids of the only users who may answer. `mayAnswer`, if given, must allow them as well. */
  readonly answerers?: readonly string[] | undefined
  /** Stores what the chat shows, so that a restart posts nothing twice. Default: in memory. */
  readonly store?: LedgerStore | undefined
  /** Default: errors are dropped. */
  readonly onError?: ((error: SinkError) => void) | undefined
  readonly clock?: Clock | undefined
}

/** Each message rings, and one takes 6 s: what only says that it goes on comes seldom. */
export const cloudPolicy: Partial<Policy> = { toolThrottleMs: 60_000, heartbeatMs: 180_000, documentLength: 2000 }

/** Shows replies to one person through the Cloud API. Throws `SinkError` of type `invalid` for an unusable policy. */
export function whatsappSink(options: WhatsAppSinkOptions): Sink {
  const { client, to, replyTo, policy, words, store, onError, clock = systemClock } = options
  return createSink({
    port: createCloudPort({ client, to, replyTo, clock, listLabel: words?.fillIn }),
    render: renderWhatsApp,
    chat: { id: to, kind: 'private' },
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer: pacerOf(client, clock),
    policy: { ...cloudPolicy, ...policy },
    words,
    mayAnswer: options.mayAnswer,
    answerers: options.answerers,
    store,
    onError,
    clock,
  })
}
