import type { Clock } from '@reply/core'
import type { WebhookAnswer, WebhookRequest } from '@reply/sink'
import { createWebhook, type Webhook } from '@reply/sink/channel'
import { jsonOf, type WebhookHead } from '@reply/sink/internal'
import { secretComparer } from '@reply/sink/node'
import { type TelegramError, unreadableUpdate } from './error.ts'
import { updateIdOf } from './inbound.ts'
import type { Receiver } from './receive.ts'

export interface TelegramWebhookOptions {
  readonly secretToken: string
  readonly read: Receiver['read']
  readonly receive: Receiver['receive']
  readonly onError: (error: TelegramError) => void
  /** Largest body, in bytes. */
  readonly maxBytes: number | undefined
  readonly clock: Clock
}

/** Telegram sends the `secret_token` of `setWebhook` in it. https://core.telegram.org/bots/api#setwebhook */
const secretHeader = 'x-telegram-bot-api-secret-token'

export function createTelegramWebhook({
  secretToken,
  read,
  receive,
  onError,
  maxBytes,
  clock,
}: TelegramWebhookOptions): Webhook {
  const isSecret = secretComparer(secretToken)
  return createWebhook({ refuse, take, maxBytes, clock })

  function refuse({ method, headers }: WebhookHead): WebhookAnswer | undefined {
    if (method.toUpperCase() !== 'POST') return { status: 405 }
    const given = headers[secretHeader]
    if (typeof given !== 'string' || !isSecret(given)) return { status: 401 }
    return undefined
  }

  async function take({ body }: WebhookRequest): Promise<WebhookAnswer> {
    const value = jsonOf(body)
    const update = read(value)
    const id = updateIdOf(value)
    if (!update) onError(unreadableUpdate(id))
    if (id === undefined) return { status: 400 }
    // Telegram repeats an update that it gets no 200 for, and holds back the later ones.
    const isTaken = !update || (await receive(update))
    return { status: isTaken ? 200 : 503 }
  }
}
