import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@reply/core'
import { createWebhook, type Webhook, type WebhookAnswer, type WebhookHead, type WebhookRequest } from '@reply/sink'
import { readRequest } from './inbound.ts'
import { requestAgeS } from './limits.ts'

export interface SlackWebhookOptions {
  readonly signingSecret: string
  /** Takes what a request tells of; nobody waits for it. */
  readonly take: (body: unknown) => void
  /** Bytes that a body may have. */
  readonly maxBytes: number
  readonly clock: Clock
}

/** Slack signs each request. https://docs.slack.dev/authentication/verifying-requests-from-slack */
const signatureHeader = 'x-slack-signature'
const timeHeader = 'x-slack-request-timestamp'

/** Answers at once, as Slack waits for three seconds alone: what follows from a request goes on after it. */
export function createSlackWebhook({ signingSecret, take: hear, maxBytes, clock }: SlackWebhookOptions): Webhook {
  return createWebhook({ refuse, take, maxBytes })

  /** What is unsigned, or was signed long ago or for a time to come, is not read at all. */
  function refuse({ method, headers }: WebhookHead): WebhookAnswer | undefined {
    if (method.toUpperCase() !== 'POST') return { status: 405 }
    const signature = headers[signatureHeader]
    const time = headers[timeHeader]
    if (typeof signature !== 'string' || !/^v0=[\da-f]{64}$/.test(signature)) return { status: 401 }
    if (typeof time !== 'string' || !/^\d{1,12}$/.test(time)) return { status: 401 }
    return Math.abs(clock.now() / 1000 - Number(time)) > requestAgeS ? { status: 401 } : undefined
  }

  async function take({ headers, body }: WebhookRequest): Promise<WebhookAnswer> {
    const hmac = createHmac('sha256', signingSecret)
      .update(`v0:${String(headers[timeHeader])}:`)
      .update(body)
    const given = digest(String(headers[signatureHeader]))
    // Of equal length whatever is given, so that the time it takes tells nothing.
    if (!timingSafeEqual(given, digest(`v0=${hmac.digest('hex')}`))) return { status: 401 }
    const read = readRequest(body)
    if (!read) return { status: 400 }
    if ('challenge' in read) return { status: 200, body: { type: 'text/plain', text: read.challenge } }
    hear(read.body)
    return { status: 200 }
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
