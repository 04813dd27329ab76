import { createHmac } from 'node:crypto'
import type { Inbound, Sink, SinkPlace, WebhookAnswer, WebhookRequest } from '@reply/sink'
import {
  type ChannelOptions,
  createWebhook,
  inboundOptionsOf,
  placeOf,
  secretFault,
  type WebhookRoutes,
} from '@reply/sink/channel'
import { createOpenTasks, type WebhookHead } from '@reply/sink/internal'
import { secretComparer } from '@reply/sink/node'
import { WhatsAppError } from '../error.ts'
import { maxWebhookBytes } from '../limits.ts'
import { parseWebhook } from './inbound.ts'
import { createCloudReceiver } from './receive.ts'
import { type WhatsAppSinkOptions, whatsappSink } from './sink.ts'

/**
 * The number, the webhook's secrets, your `onInbound`, and defaults for the channel's sinks. `onError` also receives the
 * messages that WhatsApp could not deliver.
 */
export interface WhatsAppChannelOptions extends ChannelOptions, Pick<WhatsAppSinkOptions, 'client' | 'policy'> {
  /** The app secret from the app's basic settings. Meta signs its requests with it. */
  readonly appSecret: string
  /** Any unguessable string of at least 8 characters: the Verify token entered in the webhook's settings. */
  readonly verifyToken: string
  /**
   * Skips messages older than this, in ms: Meta redelivers for days. Default 24 h, because WhatsApp allows no answer
   * after that.
   */
  readonly maxAgeMs?: number | undefined
  /** Largest webhook request body, in bytes. Default 3 MiB, the most that Meta sends. */
  readonly maxBytes?: number | undefined
}

/** A business number that shows replies and receives what people do. */
export interface WhatsAppChannel extends WebhookRoutes {
  /**
   * Makes a sink for the chat of an inbound. It replies to that message, and only its author may answer asks. To let
   * others answer, pass `{ chat, replyTo }` and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<WhatsAppSinkOptions>): Sink
  /**
   * Refuses further requests with 503, so that Meta redelivers them. Resolves when all received events are handled. Sinks
   * go on: stop them yourself.
   */
  stop(): Promise<void>
}

/** Makes a channel for one number on Meta's Cloud API. Throws `WhatsAppError` of type `invalid` for unusable options. */
export function whatsappChannel(options: WhatsAppChannelOptions): WhatsAppChannel {
  const { client, appSecret, verifyToken, maxAgeMs = 86_400_000, maxBytes = maxWebhookBytes } = options
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  requireSecret('appSecret', appSecret)
  requireSecret('verifyToken', verifyToken)
  const receive = createCloudReceiver({ client, maxAgeMs, ...inbound })
  const requests = createOpenTasks()
  let isStopped = false
  const isVerifyToken = secretComparer(verifyToken)
  const webhook = createWebhook({ refuse, take, maxBytes, clock })
  return {
    sinkFor,
    refuse: webhook.refuse,
    webhook: webhook.take,
    listener: webhook.listener,
    fetch: webhook.fetch,
    stop,
  }

  function refuse(head: WebhookHead): WebhookAnswer | undefined {
    // Meta redelivers the request, maybe to the next process.
    if (isStopped) return { status: 503 }
    const method = head.method.toUpperCase()
    if (method === 'GET') return isVerified(head) ? undefined : { status: 403 }
    if (method !== 'POST') return { status: 405 }
    return signatureIn(head) ? undefined : { status: 401 }
  }

  async function take(request: WebhookRequest): Promise<WebhookAnswer> {
    // Meta verifies the URL with this GET when the webhook is set up. `refuse` has checked the token.
    if (request.method.toUpperCase() === 'GET')
      return { status: 200, body: { type: 'text/plain', text: queryOf(request).get('hub.challenge') ?? '' } }
    const isSignature = secretComparer(createHmac('sha256', appSecret).update(request.body).digest('hex'))
    if (!isSignature(signatureIn(request) ?? '')) return { status: 401 }
    const events = parseWebhook(request.body, client.phoneNumberId)
    if (!events) return { status: 400 }
    return { status: (await requests.add(receive(events))) ? 200 : 503 }
  }

  function isVerified(head: WebhookHead): boolean {
    const query = queryOf(head)
    return isVerifyToken(query.get('hub.verify_token') ?? '') && query.get('hub.mode') === 'subscribe'
  }

  async function stop(): Promise<void> {
    isStopped = true
    await requests.settled()
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<WhatsAppSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    return whatsappSink({
      ...options,
      answerers,
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

/**
 * Meta's signature of the raw body.
 * https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads
 */
const signatureHeader = 'x-hub-signature-256'

/** In lower-case hexadecimal digits. */
function signatureIn({ headers }: WebhookHead): string | undefined {
  const given = headers[signatureHeader]
  return typeof given === 'string' ? /^sha256=([\da-f]{64})$/i.exec(given)?.[1]?.toLowerCase() : undefined
}

function queryOf({ url = '' }: WebhookHead): URLSearchParams {
  return new URLSearchParams(url.split('?')[1] ?? '')
}
