import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Inbound, type Sink, type SinkPlace, type WebhookAnswer, type WebhookRequest, words } from '@reply/sink'
import {
  type ChannelOptions,
  type Hearing,
  inboundOptionsOf,
  placeOf,
  secretFault,
  webhookRoutes,
} from '@reply/sink/channel'
import { createHearing, type WebhookHead } from '@reply/sink/internal'
import type { TelegramInboundApi } from './api.ts'
import { TelegramError } from './error.ts'
import { createPolling } from './poll.ts'
import { createReceiver, type ReceiverOptions } from './receive.ts'
import { requireToken, type TelegramSinkOptions, telegramSink } from './sink.ts'
import { createTelegramWebhook } from './webhook.ts'

/** How to reach Telegram, what to do with what people write, and the defaults of the channel's sinks. */
export interface TelegramChannelOptions
  extends ChannelOptions,
    Pick<TelegramSinkOptions, 'rich' | 'inputFile' | 'onMoved'> {
  /** grammY's: `bot.api`, or `new Api(token)`. */
  readonly api: TelegramInboundApi
  /**
   * Where updates come from: polling, the host's server (`webhook` or `listener`), or the host's own bot
   * (`handleUpdate`).
   */
  readonly updates: 'polling' | 'webhook' | 'own'
  /**
   * With `polling`: told when updates come, when Telegram refuses the token or can't be reached for a minute, and when
   * they come again. Polling goes on by itself. Default: not told.
   */
  readonly onHearing?: ((hearing: Hearing) => void) | undefined
  /** With `webhook`: the `secret_token` given to `setWebhook`, 1 to 256 characters of `A-Z a-z 0-9 _ -`. */
  readonly secretToken?: string | undefined
  /** Largest webhook request body, in bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** Both directions: sinks for the agent's replies, inbound for what people do. */
export interface TelegramChannel {
  /**
   * A sink for the chat of an inbound. It replies to that message, and only its actor may answer questions. To let
   * others answer, pass `{ chat, replyTo }` instead, and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<TelegramSinkOptions>): Sink
  /** Starts polling. Does nothing unless `updates` is `polling`. */
  start(): void
  /** Resolves when the received updates are handled and confirmed. It does not stop sinks: the host does. */
  stop(): Promise<void>
  /**
   * Handles one request from Telegram. 200: handled, or a repeat; 400: not an update; 401: not from Telegram; 405: not
   * a POST; 413: too large. Throws `invalid` without a `secretToken`.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** Refuses a request by its head, before you read its body for `webhook`. `listener` and `fetch` do so themselves. */
  refuse(head: WebhookHead): WebhookAnswer | undefined
  /** The same, as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** The same for frameworks with the web's own requests: Hono, Next, Bun, Deno. */
  fetch(request: Request): Promise<Response>
  /** For the host's own bot: `bot.use((ctx, next) => channel.handleUpdate(ctx.update).then(next))`. Never rejects. */
  handleUpdate(update: unknown): Promise<void>
}

/** Throws `TelegramError` of type `invalid` for unusable options. */
export function telegramChannel(options: TelegramChannelOptions): TelegramChannel {
  const { api, updates, secretToken, maxBytes } = options
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  requireToken(api)
  if (updates === 'webhook' || secretToken !== undefined) requireSecret(secretToken)
  const receiver: ReceiverOptions = { api, words: { ...words, ...options.words }, onMoved: options.onMoved, ...inbound }
  const { read, receive, rest } = createReceiver(receiver)
  const hearing = createHearing({ onHearing: options.onHearing, onError, clock })
  const polling = createPolling({ api, read, receive, onError, hearing, clock })
  const webhook =
    secretToken === undefined
      ? undefined
      : createTelegramWebhook({ secretToken, read, receive, onError, maxBytes, clock })
  return {
    sinkFor,
    start: () => {
      if (updates === 'polling') polling.start()
    },
    stop: async () => {
      await polling.stop()
      await rest()
    },
    ...webhookRoutes(webhook, () => {
      return new TelegramError('invalid', 'A webhook needs a secretToken: without one, anyone could post to it.')
    }),
    handleUpdate,
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<TelegramSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    return telegramSink({
      ...{ ...options, answerers, onError, clock },
      chatId: chat.id,
      threadId: chat.thread === undefined ? undefined : Number(chat.thread),
      replyTo: replyTo === undefined ? undefined : Number(replyTo.id),
      ...more,
    })
  }

  async function handleUpdate(value: unknown): Promise<void> {
    const update = read(value)
    if (update) return void (await receive(update))
    onError(new TelegramError('malformed', 'The value passed to handleUpdate is not a Telegram update.'))
  }
}

function requireSecret(secretToken: string | undefined): void {
  const fault = secretFault(secretToken, { form: { pattern: /^[\w-]{1,256}$/, words: '1 to 256 of these characters' } })
  if (fault === undefined) return
  throw new TelegramError('invalid', `A webhook needs a secretToken of 1 to 256 of A-Z a-z 0-9 _ -. ${fault}`)
}
