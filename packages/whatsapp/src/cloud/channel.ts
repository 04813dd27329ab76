import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Inbound, Sink, SinkPlace, WebhookAnswer, WebhookRequest } from '@reply/sink'
import { type ChannelOptions, inboundOptionsOf, placeOf, secretFault } from '@reply/sink/channel'
import { createOpenTasks, type WebhookHead } from '@reply/sink/internal'
import { WhatsAppError } from '../error.ts'
import { maxWebhookBytes } from './limits.ts'
import { createCloudReceiver } from './receive.ts'
import { type WhatsAppSinkOptions, whatsappSink } from './sink.ts'
import { createCloudWebhook } from './webhook.ts'

/** Both directions, and the webhook's secrets. `onError` also gets the messages that WhatsApp could not deliver. */
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

/** Both directions: sinks for the agent's replies, inbound for what people do. */
export interface WhatsAppChannel {
  /**
   * A sink for the chat of an inbound. It replies to that message, and only its actor may answer questions. To let
   * others answer, pass `{ chat, replyTo }` instead, and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<WhatsAppSinkOptions>): Sink
  /**
   * Handles one request from Meta. 200: handled, a repeat, or the challenge of a GET with the right token; 400: not a
   * WhatsApp webhook; 401: not from Meta; 403: a GET with a wrong token; 405: another method; 413: too large; 503:
   * stopped.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** Refuses a request by its head, before you read its body for `webhook`. `listener` and `fetch` do so themselves. */
  refuse(head: WebhookHead): WebhookAnswer | undefined
  /** The same, as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** The same for frameworks with the web's own requests: Hono, Next, Bun, Deno. */
  fetch(request: Request): Promise<Response>
  /**
   * Refuses further requests with 503, so that Meta redelivers them. Resolves when the received events are handled. It
   * does not stop sinks: the host does.
   */
  stop(): Promise<void>
}

/** WhatsApp through Meta's Cloud API. Throws `WhatsAppError` of type `invalid` for unusable options. */
export function whatsappChannel(options: WhatsAppChannelOptions): WhatsAppChannel {
  const { client, appSecret, verifyToken, maxAgeMs = 86_400_000, maxBytes = maxWebhookBytes } = options
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  requireSecret('appSecret', appSecret)
  requireSecret('verifyToken', verifyToken)
  const { phoneNumberId } = client
  const receive = createCloudReceiver({ client, maxAgeMs, ...inbound })
  const requests = createOpenTasks()
  let isStopped = false
  const secrets = { appSecret, verifyToken, phoneNumberId }
  const webhook = createCloudWebhook({
    ...secrets,
    receive: (events) => requests.add(receive(events)),
    isStopped: () => isStopped,
    maxBytes,
    clock,
  })
  const { refuse, take, listener, fetch } = webhook
  return { sinkFor, refuse, webhook: take, listener, fetch, stop }

  async function stop(): Promise<void> {
    isStopped = true
    await requests.rest()
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
