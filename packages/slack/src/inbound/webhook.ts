import { createHmac } from 'node:crypto'
import type { Clock } from '@reply/core'
import type { WebhookAnswer, WebhookRequest } from '@reply/sink'
import { createWebhook, type Webhook } from '@reply/sink/channel'
import { type WebhookHead, wallTime } from '@reply/sink/internal'
import { secretComparer } from '@reply/sink/node'
import { readRequest } from '../inbound.ts'
import { requestAgeS } from '../limits.ts'

export interface SlackWebhookOptions {
  readonly signingSecret: string
  /** Takes a request's event. The response waits for it, and is an error if it resolves with false. */
  readonly take: (body: unknown) => Promise<boolean>
  /** Largest body, in bytes. */
  readonly maxBytes: number | undefined
  readonly clock: Clock
}

/** Slack signs each request. https://docs.slack.dev/authentication/verifying-requests-from-slack */
const signatureHeader = 'x-slack-signature'
const timeHeader = 'x-slack-request-timestamp'

/** Most bytes of a check of the certificate. */
const checkBytes = 200

/** Slack waits three seconds for a response. */
export function createSlackWebhook({ signingSecret, take: receive, maxBytes, clock }: SlackWebhookOptions): Webhook {
  return createWebhook({ refuse, take, maxBytes, clock })

  /** Refuses unsigned, old and future-dated requests without reading their body. */
  function refuse({ method, headers }: WebhookHead): WebhookAnswer | undefined {
    if (method.toUpperCase() !== 'POST') return { status: 405 }
    if (isUnsignedForm(headers)) return undefined
    const signature = headers[signatureHeader]
    const time = headers[timeHeader]
    if (typeof signature !== 'string' || !/^v0=[\da-f]{64}$/.test(signature)) return { status: 401 }
    if (typeof time !== 'string' || !/^\d{1,12}$/.test(time)) return { status: 401 }
    return Math.abs(wallTime(clock) / 1000 - Number(time)) > requestAgeS ? { status: 401 } : undefined
  }

  async function take({ headers, body }: WebhookRequest): Promise<WebhookAnswer> {
    if (isUnsignedForm(headers)) {
      const isCheck = body.length <= checkBytes && readRequest(body)?.type === 'check'
      return { status: isCheck ? 200 : 401 }
    }
    const hmac = createHmac('sha256', signingSecret)
      .update(`v0:${String(headers[timeHeader])}:`)
      .update(body)
    const isSignature = secretComparer(`v0=${hmac.digest('hex')}`)
    if (!isSignature(String(headers[signatureHeader]))) return { status: 401 }
    const read = readRequest(body)
    switch (read?.type) {
      case undefined:
        return { status: 400 }
      case 'challenge':
        return { status: 200, body: { type: 'text/plain', text: read.challenge } }
      case 'check':
        return { status: 200 }
      case 'body':
        // An empty body: Slack would show any other to the person who gave a command.
        return { status: (await receive(read.body)) ? 200 : 503 }
      default:
        return read satisfies never
    }
  }
}

/** Checks of the certificate may come unsigned: Bolt's `verifySlackRequest` lets them pass, too. They cause nothing. */
function isUnsignedForm(headers: WebhookHead['headers']): boolean {
  const length = Number(headers['content-length'] ?? Number.NaN)
  const isForm = String(headers['content-type']).startsWith('application/x-www-form-urlencoded')
  return headers[signatureHeader] === undefined && isForm && length <= checkBytes
}
