import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Inbound,
  placeOf,
  type Sink,
  type SinkPlace,
  secretFault,
  systemClock,
  telling,
  type WebhookAnswer,
  type WebhookRequest,
} from '@reply/sink'
import { WhatsAppError } from '../error.ts'
import { createCloudHearing, type HearCloud } from './hear.ts'
import { type WhatsAppSinkOptions, whatsappSink } from './sink.ts'
import { createCloudWebhook } from './webhook.ts'

/** The sink's options, and what a webhook needs. */
export interface WhatsAppChannelOptions extends Omit<WhatsAppSinkOptions, 'to' | 'replyTo' | 'onError'> {
  /** The app's, of its basic settings: what Meta sends is signed with it. */
  readonly appSecret: string
  /** Any word that nobody can guess; the same is entered where the webhook is set. */
  readonly verifyToken: string
  /**
   * What people do, in order, each once. What it does with it may take as long as it likes, and wait for what they do next:
   * after `handleMs` the next one is given to it beside it. When it throws, `onError` is told.
   */
  readonly onInbound: (inbound: Inbound) => unknown
  /** What went wrong and was dealt with, the sinks' troubles too, and what WhatsApp could not deliver. Default: nobody is told. */
  readonly onError?: ((error: Error) => void) | undefined
  /** Default 5,000 ms. */
  readonly handleMs?: number | undefined
  /** What was written longer ago than that is passed over, in ms: Meta repeats for days what it could not tell. Default 24 h, as longer after nobody could be answered. */
  readonly maxAgeMs?: number | undefined
  /** Bytes of a webhook's request. Default 3 MiB, the most that Meta sends. */
  readonly maxBytes?: number | undefined
}

/** Both directions: sinks for the agent's replies, inbound for what people do. */
export interface WhatsAppChannel {
  /**
   * A sink for the chat of an inbound. It replies to that message, and only its actor may answer what is asked. For other
   * answerers give `{ chat, replyTo }` instead, and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<WhatsAppSinkOptions>): Sink
  /**
   * One request of Meta's. 200: heard, or heard before, or the challenge of a GET with the right token; 400: no webhook of
   * WhatsApp's; 401: not from Meta; 403: a GET with another token; 405: another method; 413: too large.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same, as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** Hears nothing more: requests are answered 503, so that Meta tells it again. Resolves when what came is handled. Sinks are stopped by who has them. */
  stop(): Promise<void>
}

/** The Cloud API. Throws `WhatsAppError` of type `invalid` for unusable options. */
export function whatsappChannel(options: WhatsAppChannelOptions): WhatsAppChannel {
  const { client, appSecret, verifyToken, onInbound, clock = systemClock } = options
  const onError = telling(options.onError)
  const { handleMs = 5000, maxAgeMs = 86_400_000, maxBytes = 3_145_728 } = options
  requireSecret('appSecret', appSecret)
  requireSecret('verifyToken', verifyToken)
  const { phoneNumberId } = client
  const hear = createCloudHearing({ client, onInbound, onError, clock, handleMs, maxAgeMs, timeoutMs: 30_000 })
  const busy = new Set<Promise<void>>()
  let isStopped = false
  const secrets = { appSecret, verifyToken, phoneNumberId }
  const webhook = createCloudWebhook({ ...secrets, hear: hearing, isStopped: () => isStopped, maxBytes })
  return { sinkFor, webhook: webhook.take, listener: webhook.listener, stop }

  async function hearing(events: Parameters<HearCloud>[0]): Promise<void> {
    const handled = hear(events)
    busy.add(handled)
    await handled
    busy.delete(handled)
  }

  async function stop(): Promise<void> {
    isStopped = true
    await Promise.all(busy)
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<WhatsAppSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    const { policy, words, mayAnswer, store } = options
    return whatsappSink({
      client,
      policy,
      words,
      mayAnswer,
      answerers,
      store,
      onError,
      clock,
      to: chat.id,
      replyTo: replyTo?.id,
      ...more,
    })
  }
}

function requireSecret(name: string, value: string): void {
  const fault = secretFault(value, { minLength: 8 })
  if (fault === undefined) return
  const why = 'without it, anyone could write to the webhook'
  throw new WhatsAppError('invalid', `The webhook needs ${name}, of at least 8 characters: ${why}. ${fault}`)
}
