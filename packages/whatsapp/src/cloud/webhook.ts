import { createHmac } from 'node:crypto'
import type { Clock } from '@reply/core'
import type { WebhookAnswer, WebhookRequest } from '@reply/sink'
import { createWebhook, type Webhook } from '@reply/sink/channel'
import type { WebhookHead } from '@reply/sink/internal'
import { secretComparer } from '@reply/sink/node'
import { parseWebhook } from './inbound.ts'
import type { ReceiveCloud } from './receive.ts'

export interface CloudWebhookOptions {
  readonly appSecret: string
  readonly verifyToken: string
  readonly phoneNumberId: string
  readonly receive: ReceiveCloud
  /** If true, refuses requests with 503: Meta redelivers them, maybe to the next process. */
  readonly isStopped: () => boolean
  /** Largest body, in bytes. */
  readonly maxBytes: number
  readonly clock: Clock
}

/**
 * Meta's signature of the raw body.
 * https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads
 */
const signatureHeader = 'x-hub-signature-256'

export function createCloudWebhook(options: CloudWebhookOptions): Webhook {
  const { appSecret, verifyToken, phoneNumberId, receive, isStopped, maxBytes, clock } = options
  const isToken = secretComparer(verifyToken)
  return createWebhook({ refuse, take, maxBytes, clock })

  function refuse(head: WebhookHead): WebhookAnswer | undefined {
    if (isStopped()) return { status: 503 }
    const method = head.method.toUpperCase()
    if (method === 'GET') return isVerified(head) ? undefined : { status: 403 }
    if (method !== 'POST') return { status: 405 }
    return signatureIn(head) ? undefined : { status: 401 }
  }

  async function take(request: WebhookRequest): Promise<WebhookAnswer> {
    // Meta verifies the URL with this GET when the webhook is set up; `refuse` has checked the token.
    if (request.method.toUpperCase() === 'GET')
      return { status: 200, body: { type: 'text/plain', text: queryOf(request).get('hub.challenge') ?? '' } }
    const isSignature = secretComparer(createHmac('sha256', appSecret).update(request.body).digest('hex'))
    if (!isSignature(signatureIn(request) ?? '')) return { status: 401 }
    const events = parseWebhook(request.body, phoneNumberId)
    if (!events) return { status: 400 }
    return { status: (await receive(events)) ? 200 : 503 }
  }

  function isVerified(head: WebhookHead): boolean {
    const query = queryOf(head)
    return isToken(query.get('hub.verify_token') ?? '') && query.get('hub.mode') === 'subscribe'
  }
}

/** In lower-case hexadecimal digits. */
function signatureIn({ headers }: WebhookHead): string | undefined {
  const given = headers[signatureHeader]
  return typeof given === 'string' ? /^sha256=([\da-f]{64})$/i.exec(given)?.[1]?.toLowerCase() : undefined
}

function queryOf({ url = '' }: WebhookHead): URLSearchParams {
  return new URLSearchParams(url.split('?')[1] ?? '')
}
