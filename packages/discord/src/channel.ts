import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Inbound,
  placeOf,
  type Sink,
  type SinkPlace,
  systemClock,
  telling,
  type WebhookAnswer,
  type WebhookRequest,
} from '@reply/sink'
import type { DiscordClient } from './api.ts'
import { DiscordError } from './error.ts'
import { createHearing, type HearEvent } from './hear.ts'
import { isMalformed, toEvent } from './inbound.ts'
import { type DiscordSinkOptions, discordSink } from './sink.ts'
import { createDiscordWebhook } from './webhook.ts'

export interface DiscordChannelOptions
  extends Omit<DiscordSinkOptions, 'channelId' | 'kind' | 'replyTo' | 'thread' | 'onError'> {
  /**
   * How it hears: a discord.js `client` tells it, `webhook` or `listener` is called by the host's server with interactions, or
   * `handleEvent` by whatever the host has. Over HTTP Discord sends buttons, dialogs and commands, and no messages.
   */
  readonly updates: 'gateway' | 'http' | 'own'
  /** With `gateway`: the host's own, with the intents `GuildMessages`, `DirectMessages` and `MessageContent`; it logs in by itself. */
  readonly client?: DiscordClient | undefined
  /** With `http`: the application's, from Discord's portal, 64 hexadecimal digits. */
  readonly publicKey?: string | undefined
  /** Commands of the bot's that are heard, as texts like "/ask Why?", without their slash. All others are the host's. Default: none. */
  readonly commands?: readonly string[] | undefined
  /** What people do, each once. It may take as long as it likes. When it throws, `onError` is told. */
  readonly onInbound: (inbound: Inbound) => unknown
  /** Receives the errors that the channel and its sinks recovered from. Default: errors are dropped. */
  readonly onError?: ((error: Error) => void) | undefined
  /** What `handleEvent` and `stop` wait for at most, of one event. Default 5,000 ms. */
  readonly handleMs?: number | undefined
  /** Bytes of a webhook's request. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** Both directions: sinks for the agent's replies, inbound for what people do. */
export interface DiscordChannel {
  /**
   * A sink for the chat of an inbound. It replies to that message, and only its actor may answer what is asked. For other
   * answerers give `{ chat, replyTo }` instead, and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<DiscordSinkOptions>): Sink
  /** Begins to listen to the client, where there is one. */
  start(): void
  /** Listens no more, and resolves when what came is handled. Sinks are stopped by who has them, and so is the client. */
  stop(): Promise<void>
  /**
   * One interaction. 200: taken, or taken before; 400: none of ours; 401: not from Discord, or too old; 405: no POST; 413:
   * too large. Throws `invalid` without a `publicKey`.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same, as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** One event as the gateway has it: `{ t: 'MESSAGE_CREATE', d }` or `{ t: 'INTERACTION_CREATE', d }`; others are passed over. Never rejects. */
  handleEvent(packet: unknown): Promise<void>
}

/** Throws `DiscordError` of type `invalid` for unusable options. */
export function discordChannel(options: DiscordChannelOptions): DiscordChannel {
  const { rest, updates, client, publicKey, commands = [], onInbound } = options
  const onError = telling(options.onError)
  const { clock = systemClock, handleMs = 5000, maxBytes = 1_048_576 } = options
  if (updates === 'gateway' && !client)
    throw new DiscordError('invalid', "To hear over the gateway it needs a client: discord.js's `new Client(...)`.")
  const hearing = { commands: new Set(commands) }
  const handling = new Set<Promise<void>>()
  const heard = createHearing({ rest, onInbound, onError, clock, handleMs })
  const webhook =
    publicKey === undefined && updates !== 'http'
      ? undefined
      : createDiscordWebhook({ publicKey, hear, hearing, clock, maxBytes })
  let isListening = false
  return {
    sinkFor,
    start: () => {
      if (updates === 'gateway' && !isListening) client?.on('raw', listen)
      isListening = true
    },
    stop: async () => {
      client?.off('raw', listen)
      isListening = false
      await Promise.all(handling)
    },
    webhook: async (request) => await secured().take(request),
    listener: (request, response) => secured().listener(request, response),
    handleEvent,
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<DiscordSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    const { policy, words, mayAnswer, store } = options
    return discordSink({
      ...{ rest, policy, words, mayAnswer, answerers, store, onError, clock },
      channelId: chat.id,
      kind: chat.kind,
      replyTo: replyTo?.id,
      ...more,
    })
  }

  function secured(): NonNullable<typeof webhook> {
    if (webhook) return webhook
    throw new DiscordError('invalid', 'A webhook needs a publicKey: without one anybody could write to it.')
  }

  function listen(packet: unknown): void {
    void handleEvent(packet)
  }

  async function handleEvent(packet: unknown): Promise<void> {
    const event = toEvent(packet, hearing)
    if (!event) {
      if (isMalformed(packet))
        onError(new DiscordError('malformed', "An event of Discord's can't be read; it was passed over."))
      return
    }
    await hear(event)
  }

  /** And remembers it until it is done: `stop` waits for it. */
  function hear(...given: Parameters<HearEvent>): ReturnType<HearEvent> {
    const handled = heard(...given)
    if (!handled) return undefined
    handling.add(handled)
    return handled.finally(() => handling.delete(handled))
  }
}
