import { type Inbound, type Sink, type SinkPlace, texts, type WebhookAnswer, type WebhookRequest } from '@reply/sink'
import {
  type ChannelOptions,
  createWebhook,
  type InboundStatus,
  inboundOptionsOf,
  placeOf,
  secretFault,
  type Webhook,
  type WebhookRoutes,
  webhookRoutes,
} from '@reply/sink/channel'
import { createInboundMonitor, jsonOf, type WebhookHead } from '@reply/sink/internal'
import { secretComparer } from '@reply/sink/node'
import type { TelegramInboundApi } from './api.ts'
import { TelegramError, unreadableUpdateError } from './error.ts'
import { updateIdOf } from './inbound.ts'
import { createPolling } from './polling.ts'
import { createReceiver, type Receiver } from './receive.ts'
import { requireToken, type TelegramSinkOptions, telegramSink } from './sink.ts'

/** The bot, where its updates come from, your `onInbound`, and defaults for the channel's sinks. */
export interface TelegramChannelOptions
  extends ChannelOptions,
    Pick<TelegramSinkOptions, 'rich' | 'inputFile' | 'onMoved'> {
  /** grammY's `bot.api`, or `new Api(token)`. */
  readonly api: TelegramInboundApi
  /**
   * Where updates come from. `polling`: the channel fetches them. `webhook`: your server passes on Telegram's requests.
   * `own`: your own bot calls `handleUpdate`.
   */
  readonly updates: 'polling' | 'webhook' | 'own'
  /**
   * With `polling`: called when updates arrive, when Telegram rejects the token or is unreachable for a minute, and when
   * updates arrive again. Polling is retried in any case.
   */
  readonly onInboundStatus?: ((status: InboundStatus) => void) | undefined
  /** Required with `webhook`: the `secret_token` given to `setWebhook`, 1 to 256 characters of `A-Z a-z 0-9 _ -`. */
  readonly secretToken?: string | undefined
  /** Largest webhook request body, in bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** A bot that shows replies and receives messages and presses. */
export interface TelegramChannel extends WebhookRoutes {
  /**
   * Creates a sink for the chat of an inbound. It replies to that message, and only its author may answer asks. To let
   * others answer, pass `{ chat, replyTo }` and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<TelegramSinkOptions>): Sink
  /** Starts polling. Does nothing unless `updates` is `polling`. */
  start(): void
  /**
   * Stops receiving. Resolves when all received updates are handled and confirmed. Sinks continue: stop them yourself.
   */
  stop(): Promise<void>
  /**
   * Handles an update of your own bot: `bot.use((ctx, next) => channel.handleUpdate(ctx.update).then(next))`. Never
   * rejects.
   */
  handleUpdate(update: unknown): Promise<void>
}

/** Creates a channel for one bot. Throws `TelegramError` of type `invalid` for unusable options. */
export function telegramChannel(options: TelegramChannelOptions): TelegramChannel {
  const { api, updates, secretToken, onMoved } = options
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  requireToken(api)
  if (updates === 'webhook' || secretToken !== undefined) requireSecret(secretToken)
  const receiver = createReceiver({ ...inbound, api, texts: { ...texts, ...options.texts }, onMoved })
  const monitor = createInboundMonitor({ onInboundStatus: options.onInboundStatus, onError, clock })
  const polling = createPolling({ api, receiver, onError, monitor, clock })
  const webhook = secretToken === undefined ? undefined : createWebhookFor(secretToken)
  return {
    sinkFor,
    start: () => {
      if (updates === 'polling') polling.start()
    },
    stop: async () => {
      await polling.stop()
      await receiver.settled()
    },
    ...webhookRoutes(webhook, () => {
      return new TelegramError('invalid', 'A webhook needs a secretToken. Without one, anyone could post to it.')
    }),
    handleUpdate,
  }

  /**
   * Creates a sink that replies to the inbound's message and lets only its author answer. Options in `more` take precedence.
   */
  function sinkFor(at: Inbound | SinkPlace, more: Partial<TelegramSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    return telegramSink({
      ...options,
      answerers,
      onError,
      clock,
      chatId: chat.id,
      threadId: chat.thread === undefined ? undefined : Number(chat.thread),
      replyTo: replyTo === undefined ? undefined : Number(replyTo.id),
      ...more,
    })
  }

  /** Passes an update on, and waits until the host is done. Reports a value that isn't an update. */
  async function handleUpdate(value: unknown): Promise<void> {
    const update = receiver.read(value)
    if (update) return void (await receiver.receive(update))
    onError(new TelegramError('malformed', 'The value passed to handleUpdate is not a Telegram update.'))
  }

  /** Creates the webhook, which only accepts requests with the secret. */
  function createWebhookFor(secret: string): Webhook {
    const isSecret = secretComparer(secret)
    return createWebhook({
      refuse: (head) => refusalOf(isSecret, head),
      take: async (request) => await answerWebhook(request, receiver, onError),
      maxBytes: options.maxBytes,
      clock,
    })
  }
}

/** Throws `invalid` unless Telegram accepts the secret. */
function requireSecret(secretToken: string | undefined): void {
  const fault = secretFault(secretToken, {
    form: { pattern: /^[\w-]{1,256}$/, description: '1 to 256 of these characters' },
  })
  if (fault === undefined) return
  throw new TelegramError('invalid', `A webhook needs a secretToken of 1 to 256 of A-Z a-z 0-9 _ -. ${fault}`)
}

/** The header with the `secret_token` of `setWebhook`. https://core.telegram.org/bots/api#setwebhook */
const secretHeader = 'x-telegram-bot-api-secret-token'

/** Returns 405 unless the request is a POST, and 401 without the right secret. Undefined if it is accepted. */
function refusalOf(isSecret: (sent: string) => boolean, { method, headers }: WebhookHead): WebhookAnswer | undefined {
  if (method.toUpperCase() !== 'POST') return { status: 405 }
  const sent = headers[secretHeader]
  return typeof sent === 'string' && isSecret(sent) ? undefined : { status: 401 }
}

/**
 * Passes the update of a request on. Resolves with 200 once the host took it, or if it can't be read, which is reported.
 * Resolves with 503 if it wasn't taken, and 400 without an id.
 */
async function answerWebhook(
  { body }: WebhookRequest,
  { read, receive }: Receiver,
  onError: (error: TelegramError) => void,
): Promise<WebhookAnswer> {
  const value = jsonOf(body)
  const update = read(value)
  const id = updateIdOf(value)
  if (!update) onError(unreadableUpdateError(id))
  if (id === undefined) return { status: 400 }
  // Telegram repeats an update until it gets a 200, and holds back later ones.
  const isTaken = !update || (await receive(update))
  return { status: isTaken ? 200 : 503 }
}
