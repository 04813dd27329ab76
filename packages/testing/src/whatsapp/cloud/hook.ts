import { createHmac } from 'node:crypto'
import type { TestClock } from '../../clock.ts'
import { TestingError } from '../../error.ts'
import type { Fields } from '../../fields.ts'
import { createWebhookQueue, postTo } from '../../platform/webhook.ts'
import { cloudLimits } from './limits.ts'
import { titles } from './refusal.ts'

/** One request to the webhook, as sent. */
export interface WhatsAppWebhookCall {
  /** The JSON body. */
  readonly body: string
  /** The header `X-Hub-Signature-256`: `sha256=…`. */
  readonly signature: string
  /** The response status. Absent until there is a response. */
  readonly status?: number
}

interface CloudStatus {
  readonly id: string
  readonly person: string
  readonly status: 'sent' | 'delivered' | 'failed'
  readonly code?: number
  /** As posted with the message. */
  readonly data: string | undefined
}

/** Reports events to the webhook, one request after another, each until it is accepted or the attempts are used up. */
export interface Hook {
  readonly calls: readonly WhatsAppWebhookCall[]
  /** `sha256=…` over these bytes. */
  sign(body: string | Uint8Array): string
  /**
   * Sets the webhook as in the app's settings, and sends it what waits. Requests the challenge first. Rejects, and
   * keeps the former URL, if it isn't returned.
   */
  setUrl(url: string, verifyToken: string): Promise<void>
  /** Queues an event of the number, with this value. */
  notify(value: Fields): void
  /** Queues the status of a message. */
  reportStatus(status: CloudStatus): void
  /** Breaks the request that is being sent, and sends no more. */
  close(): void
}

/** Returns a webhook without a URL, whose events wait until one is set. */
export function createHook(clock: TestClock, appSecret: string, phoneNumberId: string): Hook {
  const calls: WhatsAppWebhookCall[] = []
  const pending: string[] = []
  let url = ''
  const queue = createWebhookQueue({
    clock,
    limits: cloudLimits.webhook,
    oldest: () => (url === '' ? undefined : pending[0]),
    post,
    drop: () => pending.shift(),
  })
  return { calls, sign, setUrl, notify, reportStatus, close }

  /** Returns the signature header of a body: `sha256=…` with the app's secret. */
  function sign(body: string | Uint8Array): string {
    return `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`
  }

  /**
   * Sets the webhook and sends it what waits. Requests the challenge first. Rejects, and keeps the former URL, with a
   * `TestingError` if it isn't returned, and with fetch's error if the connection fails.
   */
  async function setUrl(newUrl: string, verifyToken: string): Promise<void> {
    const challenge = String(1_158_201_444)
    const query = new URLSearchParams({
      'hub.mode': 'subscribe',
      'hub.challenge': challenge,
      'hub.verify_token': verifyToken,
    })
    const answer = await fetch(`${newUrl}?${query}`)
    if (!answer.ok || (await answer.text()) !== challenge)
      throw new TestingError('whatsapp', `The webhook did not return the challenge: it answered ${answer.status}.`)
    url = newUrl
    queue.sendNext()
  }

  /** Queues an event in Meta's envelope, and sends the oldest unless one is being sent. */
  function notify(value: Fields): void {
    const metadata = { display_phone_number: '15550001111', phone_number_id: phoneNumberId }
    const change = { field: 'messages', value: { messaging_product: 'whatsapp', metadata, ...value } }
    pending.push(JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '102', changes: [change] }] }))
    queue.sendNext()
  }

  /** Queues the status of a message, with Meta's title of the error if it has a code. */
  function reportStatus({ id, person, status, code, data }: CloudStatus): void {
    const title = code === undefined ? '' : (titles[code] ?? 'Error')
    const errors =
      code === undefined ? {} : { errors: [{ code, title, message: title, error_data: { details: title } }] }
    const timestamp = String(Math.floor(clock.now() / 1000))
    // `biz_opaque_callback_data`: https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/status
    const posted = data === undefined ? {} : { biz_opaque_callback_data: data }
    notify({ statuses: [{ id, status, timestamp, recipient_id: person, ...posted, ...errors }] })
  }

  /** Breaks the request that is being sent, and forgets the URL. */
  function close(): void {
    url = ''
    queue.stop()
  }

  /** Sends a body once, and logs the request. Resolves with the status. Rejects if the connection fails. */
  async function post(body: string, signal: AbortSignal): Promise<number> {
    const call = { body, signature: sign(body) }
    const index = calls.push(call) - 1
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': call.signature }
    const status = await postTo(url, body, headers, signal)
    calls[index] = { ...call, status }
    return status
  }
}
