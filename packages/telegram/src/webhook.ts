import { createHash, timingSafeEqual } from 'node:crypto'
import { createWebhook, type Webhook, type WebhookAnswer, type WebhookHead, type WebhookRequest } from '@reply/sink'
import type { HearUpdate } from './hear.ts'
import { parseUpdate } from './inbound.ts'

export interface TelegramWebhookOptions {
  readonly secretToken: string
  readonly hear: HearUpdate
  /** Bytes that a body may have. */
  readonly maxBytes: number
}

/** Telegram sends back the secret that the webhook was set with. https://core.telegram.org/bots/api#setwebhook */
const secretHeader = 'x-telegram-bot-api-secret-token'

export function createTelegramWebhook({ secretToken, hear, maxBytes }: TelegramWebhookOptions): Webhook {
  const secret = digest(secretToken)
  return createWebhook({ refuse, take, maxBytes })

  function refuse({ method, headers }: WebhookHead): WebhookAnswer | undefined {
    if (method.toUpperCase() !== 'POST') return { status: 405 }
    const given = headers[secretHeader]
    // Of equal length whatever is given, so that the time it takes tells nothing.
    if (typeof given !== 'string' || !timingSafeEqual(digest(given), secret)) return { status: 401 }
    return undefined
  }

  async function take({ body }: WebhookRequest): Promise<WebhookAnswer> {
    const update = parseUpdate(body)
    if (!update) return { status: 400 }
    await hear(update)
    return { status: 200 }
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
