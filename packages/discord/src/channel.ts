import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Inbound, Sink, SinkPlace, WebhookAnswer, WebhookRequest } from '@reply/sink'
import { type ChannelOptions, inboundOptionsOf, placeOf, webhookRoutes } from '@reply/sink/channel'
import type { WebhookHead } from '@reply/sink/internal'
import type { DiscordClient } from './api.ts'
import { DiscordError } from './error.ts'
import { createDiscordWebhook } from './inbound/webhook.ts'
import { isMalformed, toEvent } from './inbound.ts'
import { createReceiver } from './receive.ts'
import { type DiscordSinkOptions, discordSink } from './sink.ts'

/** How to reach Discord, what to do with what people write, and the defaults of the channel's sinks. */
export interface DiscordChannelOptions extends ChannelOptions, Pick<DiscordSinkOptions, 'rest' | 'policy'> {
  /**
   * Where events come from: a discord.js `client`, the host's server (interactions, by `webhook` or `listener`), or the
   * host's own code (`handleEvent`). Over HTTP Discord sends buttons, dialogs and commands, but no messages.
   */
  readonly updates: 'gateway' | 'http' | 'own'
  /**
   * With `gateway`: the host's client, with the intents `GuildMessages`, `DirectMessages` and `MessageContent`. The
   * host logs it in.
   */
  readonly client?: DiscordClient | undefined
  /** With `http`: the application's public key from Discord's developer portal, 64 hexadecimal digits. */
  readonly publicKey?: string | undefined
  /**
   * Names of slash commands, without the slash, that arrive as texts like "/ask Why?". All others are left to the host.
   * A set may grow later. Default: none.
   */
  readonly commands?: readonly string[] | ReadonlySet<string> | undefined
  /** Largest webhook request body, in bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** Both directions: sinks for the agent's replies, inbound for what people do. */
export interface DiscordChannel {
  /**
   * A sink for the chat of an inbound. It replies to that message, and only its actor may answer questions. To let
   * others answer, pass `{ chat, replyTo }` instead, and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<DiscordSinkOptions>): Sink
  /** Starts listening to the client. Does nothing unless `updates` is `gateway`. */
  start(): void
  /** Stops listening, and resolves when the received events are handled. The host stops its sinks and the client. */
  stop(): Promise<void>
  /**
   * Handles one interaction. 200: accepted, or a repeat; 400: not for this channel, or a press of the host's own button
   * that it did not answer; 401: not from Discord, or too old; 405: not a POST; 413: too large. Throws `invalid` without
   * a `publicKey`.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** Refuses a request by its head, before you read its body for `webhook`. `listener` and `fetch` do so themselves. */
  refuse(head: WebhookHead): WebhookAnswer | undefined
  /** The same, as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** The same for frameworks with the web's own requests: Hono, Next, Bun, Deno. */
  fetch(request: Request): Promise<Response>
  /**
   * Handles one gateway event: `{ t: 'MESSAGE_CREATE', d }` or `{ t: 'INTERACTION_CREATE', d }`. Skips others. Never
   * rejects.
   */
  handleEvent(packet: unknown): Promise<void>
}

/** Throws `DiscordError` of type `invalid` for unusable options. */
export function discordChannel(options: DiscordChannelOptions): DiscordChannel {
  const { rest, updates, client, publicKey, commands = [], maxBytes } = options
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  if (updates === 'gateway' && !client)
    throw new DiscordError('invalid', "The gateway needs a client: pass discord.js's `new Client(...)`.")
  const filter = { commands: commands instanceof Set ? commands : new Set(commands), own: () => client?.user?.id }
  const { receive, rest: handled } = createReceiver({ rest, ...inbound })
  const webhook =
    publicKey === undefined && updates !== 'http'
      ? undefined
      : createDiscordWebhook({ publicKey, receive, filter, clock, maxBytes })
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
      await handled()
    },
    ...webhookRoutes(webhook, () => {
      return new DiscordError('invalid', 'A webhook needs a publicKey: without one, anyone could post to it.')
    }),
    handleEvent,
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<DiscordSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    return discordSink({
      ...options,
      answerers,
      onError,
      clock,
      channelId: chat.id,
      kind: chat.kind,
      replyTo: replyTo?.id,
      ...more,
    })
  }

  function listen(packet: unknown): void {
    void handleEvent(packet)
  }

  async function handleEvent(packet: unknown): Promise<void> {
    const event = toEvent(packet, filter)
    if (!event) {
      if (isMalformed(packet)) onError(new DiscordError('malformed', "Skipped a Discord event that can't be read."))
      return
    }
    await receive(event)
  }
}
