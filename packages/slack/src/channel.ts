import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  texts as defaultTexts,
  type Inbound,
  type Sink,
  type SinkPlace,
  type WebhookAnswer,
  type WebhookRequest,
} from '@reply/sink'
import {
  type ChannelOptions,
  type Hearing,
  inboundOptionsOf,
  placeOf,
  secretFault,
  webhookRoutes,
} from '@reply/sink/channel'
import { createHearing, type WebhookHead } from '@reply/sink/internal'
import type { SlackApi, SlackSocket } from './api.ts'
import { SlackError } from './error.ts'
import { createListening } from './inbound/socket.ts'
import { createSlackWebhook } from './inbound/webhook.ts'
import { isTs } from './place.ts'
import { createReceiver } from './receive.ts'
import { requireToken, type SlackSinkOptions, slackSink } from './sink.ts'
import { createThreads } from './threads.ts'

/** How to reach Slack, what to do with what people write, and the defaults of the channel's sinks. */
export interface SlackChannelOptions extends ChannelOptions, Pick<SlackSinkOptions, 'api' | 'policy'> {
  /**
   * Where events come from: a socket, the host's server (`webhook` or `listener`), or the host's own app
   * (`handleEvent`).
   */
  readonly events: 'socket' | 'http' | 'own'
  /**
   * With `socket`: `new SocketModeClient({ appToken, autoReconnectEnabled: false })`. The channel reconnects by itself.
   */
  readonly socket?: SlackSocket | undefined
  /**
   * With `socket`: told when events come, when Slack refuses the app or can't be reached for a minute, and when they come
   * again. The channel goes on trying by itself. Default: not told.
   */
  readonly onHearing?: ((hearing: Hearing) => void) | undefined
  /** With `http`: the Signing Secret on the app's page. */
  readonly signingSecret?: string | undefined
  /**
   * Passes on every message that the app hears, with `isMention` where it is mentioned. Default false: in channels only
   * mentions, and all messages of threads in which the bot was mentioned or posts.
   */
  readonly hearsAll?: boolean | undefined
  /**
   * When Slack is told that an event arrived: at once, or when `onInbound` is done, after 2.5 s at the latest, because
   * Slack waits 3 s. Slack then sends an event again that the process lost. Default `at once`.
   */
  readonly acknowledges?: 'at once' | 'handled' | undefined
  /**
   * Names of slash commands, without the slash, that arrive as texts like "/ask Why?"; `all` if the app is the bot's
   * alone. Others are left to the host, acknowledged without an answer. Default: none.
   */
  readonly commands?: readonly string[] | 'all' | undefined
  /** Largest request body, in bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** Both directions: sinks for the agent's replies, inbound for what people do. */
export interface SlackChannel {
  /**
   * A sink for the thread of an inbound. Only its actor may answer questions. To let others answer, pass `{ chat }`
   * instead, and `mayAnswer`. A stream's recipient is the person who wrote last in the thread.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<SlackSinkOptions>): Sink
  /** Connects the socket. Does nothing unless `events` is `socket`. */
  start(): void
  /** Resolves when the received events are handled, at most `handleMs` each. It does not stop sinks: the host does. */
  stop(): Promise<void>
  /**
   * Handles one request from Slack: an event, an interaction, a slash command, or a check of the URL or its certificate.
   * 200: accepted, or a repeat; 400: unreadable; 401: not from Slack, or older than five minutes; 405: not a POST; 413:
   * too large. Throws `invalid` without a `signingSecret`.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** Refuses a request by its head, before you read its body for `webhook`. `listener` and `fetch` do so themselves. */
  refuse(head: WebhookHead): WebhookAnswer | undefined
  /** The same, as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** The same for frameworks with the web's own requests: Hono, Next, Bun, Deno. */
  fetch(request: Request): Promise<Response>
  /** Takes an event's body or an interaction's payload that the host's own app acknowledged. Never rejects. */
  handleEvent(body: unknown): Promise<void>
}

/** Slack waits 3 s for an acknowledgement. https://docs.slack.dev/apis/events-api#acknowledging */
const acknowledgeMs = 2500

/** Throws `SlackError` of type `invalid` for unusable options. */
export function slackChannel(options: SlackChannelOptions): SlackChannel {
  const { api, events, socket, signingSecret, commands = [], maxBytes, hearsAll = false } = options
  const isLate = options.acknowledges === 'handled'
  const given = inboundOptionsOf(options)
  const inbound = isLate ? { ...given, handleMs: Math.min(given.handleMs, acknowledgeMs) } : given
  const { onError, clock } = inbound
  const threads = createThreads()
  const isOwnCommand = (name: string): boolean => commands === 'all' || commands.includes(name)
  const texts = { ...defaultTexts, ...options.texts }
  const { receive, rest } = createReceiver({ api, texts, threads, hearsAll, isOwnCommand, ...inbound })
  /** What an acknowledgement waits for. */
  const take = async (body: unknown): Promise<boolean> => {
    const isTaken = receive(body)
    return isLate ? await isTaken : true
  }
  const hearing = createHearing({ onHearing: options.onHearing, onError, clock })
  const listening =
    events === 'socket' ? createListening({ socket: requireSocket(socket), take, onError, hearing, clock }) : undefined
  requireToken(api)
  if (events === 'http' || signingSecret !== undefined) requireSecret(signingSecret)
  const webhook = signingSecret ? createSlackWebhook({ signingSecret, take, maxBytes, clock }) : undefined
  warn(api, onError)
  return {
    sinkFor,
    start: () => listening?.start(),
    stop: async () => {
      await listening?.stop()
      await rest()
    },
    ...webhookRoutes(webhook, () => {
      return new SlackError('invalid', 'A webhook needs a signingSecret: without one, anyone could post to it.')
    }),
    handleEvent: async (body) => void (await receive(body)),
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<SlackSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    threads.join(chat)
    return slackSink({
      ...{ ...options, answerers, onError, clock },
      channelId: chat.id,
      threadTs: chat.thread,
      // A slash command is not a message.
      replyTo: replyTo && isTs(replyTo.id) ? replyTo.id : undefined,
      recipient: threads.recipientIn(chat),
      ...more,
    })
  }
}

function requireSecret(signingSecret: string | undefined): void {
  const fault = secretFault(signingSecret, { minLength: 8 })
  if (fault === undefined) return
  throw new SlackError('invalid', `A webhook needs a signingSecret: the Signing Secret on the app's page. ${fault}`)
}

function requireSocket(socket: SlackSocket | undefined): SlackSocket {
  if (socket) return socket
  throw new SlackError(
    'invalid',
    "events: 'socket' needs a socket: new SocketModeClient({ appToken, autoReconnectEnabled: false }).",
  )
}

/** A client that retries by itself may post a message twice, and one that queues posts late. */
function warn(api: SlackApi, onError: (error: SlackError) => void): void {
  const repeats = 'rejectRateLimitedCalls' in api && api.rejectRateLimitedCalls === false
  if (!repeats) return
  const cure = 'Create it with { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }.'
  onError(
    new SlackError('client', `This WebClient retries calls on its own, so a message may be posted twice. ${cure}`),
  )
}
