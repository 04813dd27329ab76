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
import type { CloudClient } from './api.ts'
import { createCloudPort } from './port.ts'

/** Options of `whatsappSink`. */
export interface WhatsAppSinkOptions {
  /** `createCloudClient({ token, phoneNumberId })`. Sinks on one client share its rate limits. */
  readonly client: CloudClient
  /** The person to write to: a number with its country code, or a business-scoped user id. */
  readonly to: string
  /** The prompt's `wamid`: the reply quotes it, and typing is shown. */
  readonly replyTo?: string | undefined
  /**
   * Default: tool notices at most every 60 s, a heartbeat after 3 min, code of more than 2,000 UTF-16 units as a file.
   */
  readonly policy?: Partial<Policy> | undefined
  /** Words to use in place of the English ones. Fields left out stay English. */
  readonly words?: Partial<Words> | undefined
  /**
   * Called for each press and each text that would answer. Only `true` lets the actor answer. Default: the chat's
   * person may answer.
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

/** Each message notifies, and the limit is one in 6 s, so progress notices are rare. */
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
