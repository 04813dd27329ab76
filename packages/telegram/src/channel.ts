import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Inbound,
  placeOf,
  type Sink,
  type SinkPlace,
  secretFault,
  systemClock,
  telling,
  type WebhookAnswer,
  type WebhookRequest,
} from '@reply/sink'
import type { TelegramInboundApi } from './api.ts'
import { TelegramError } from './error.ts'
import { createHearing, type HearingOptions } from './hear.ts'
import { toUpdate } from './inbound.ts'
import { createPolling } from './poll.ts'
import { requireToken, type TelegramSinkOptions, telegramSink } from './sink.ts'
import { createTelegramWebhook } from './webhook.ts'

export interface TelegramChannelOptions
  extends Omit<TelegramSinkOptions, 'api' | 'chatId' | 'threadId' | 'replyTo' | 'onError'> {
  /** grammY's: `bot.api`, or `new Api(token)`. */
  readonly api: TelegramInboundApi
  /** How it hears: it polls, `webhook` or `listener` is called by the host's server, or `handleUpdate` by the host's own bot. */
  readonly updates: 'polling' | 'webhook' | 'own'
  /**
   * What people do, in order, each once. What it does with it may take as long as it likes, and wait for what they do next:
   * what comes in one poll is given at once, and the next poll waits for it no longer than `handleMs`. When it throws,
   * `onError` is told.
   */
  readonly onInbound: (inbound: Inbound) => unknown
  /** With `webhook`: what `setWebhook` was given as `secret_token`, 1 to 256 of `A-Z a-z 0-9 _ -`. */
  readonly secretToken?: string | undefined
  /** What went wrong and was dealt with, the sinks' troubles too. Default: nobody is told. */
  readonly onError?: ((error: Error) => void) | undefined
  /** Default 5,000 ms. */
  readonly handleMs?: number | undefined
  /** Bytes of a webhook's request. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** Both ways at once: sinks for what the agent says, inbound for what people do. */
export interface TelegramChannel {
  /**
   * A sink for the chat of an inbound. It replies to that message, and only its actor may answer what is asked. For other
   * answerers give `{ chat, replyTo }` instead, and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<TelegramSinkOptions>): Sink
  /** Begins to poll, where it polls. */
  start(): void
  /** Resolves when the updates that came are handled and confirmed. Sinks are stopped by who has them. */
  stop(): Promise<void>
  /**
   * One request of Telegram's. 200: heard, or heard before; 400: no update; 401: not from Telegram; 405: no POST; 413: too
   * large. Throws `invalid` without a `secretToken`.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same as a listener of `node:http`. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** For a bot of the host's own: `bot.use((ctx, next) => channel.handleUpdate(ctx.update).then(next))`. Never rejects. */
  handleUpdate(update: unknown): Promise<void>
}

/** Throws `TelegramError` of type `invalid` for options that can't be. */
export function telegramChannel(options: TelegramChannelOptions): TelegramChannel {
  const { api, updates, onInbound, secretToken, clock = systemClock } = options
  const onError = telling(options.onError)
  const { handleMs = 5000, maxBytes = 1_048_576 } = options
  requireToken(api)
  if (updates === 'webhook' || secretToken !== undefined) requireSecret(secretToken)
  const hearing: HearingOptions = { api, onInbound, onError, clock, handleMs }
  const hear = createHearing(hearing)
  const polling = createPolling({ ...hearing, hear })
  const webhook = secretToken === undefined ? undefined : createTelegramWebhook({ secretToken, hear, maxBytes })
  return {
    sinkFor,
    start: () => {
      if (updates === 'polling') polling.start()
    },
    stop: async () => await polling.stop(),
    webhook: async (request) => await secured().take(request),
    listener: (request, response) => secured().listener(request, response),
    handleUpdate,
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<TelegramSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    const { policy, words, mayAnswer, store, rich, inputFile } = options
    return telegramSink({
      ...{ api, policy, words, mayAnswer, answerers, store, rich, inputFile, onError, clock },
      chatId: chat.id,
      threadId: chat.thread === undefined ? undefined : Number(chat.thread),
      replyTo: replyTo === undefined ? undefined : Number(replyTo.id),
      ...more,
    })
  }

  function secured(): NonNullable<typeof webhook> {
    if (webhook) return webhook
    throw new TelegramError('invalid', 'A webhook needs a secretToken: without one anybody could write to it.')
  }

  async function handleUpdate(value: unknown): Promise<void> {
    const update = toUpdate(value)
    if (update) return await hear(update)
    onError(new TelegramError('malformed', "What handleUpdate was given is no update of Telegram's."))
  }
}

function requireSecret(secretToken: string | undefined): void {
  const fault = secretFault(secretToken, { form: { pattern: /^[\w-]{1,256}$/, words: 'of these characters alone' } })
  if (fault === undefined) return
  throw new TelegramError('invalid', `A webhook needs a secretToken of 1 to 256 of A-Z a-z 0-9 _ -. ${fault}`)
}
