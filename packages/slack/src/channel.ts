import type { IncomingMessage, ServerResponse } from 'node:http'
import { words as defaultWords, type Inbound, type Sink } from '@reply/sink'
import {
  placeOf,
  type SinkPlace,
  safeOnError,
  secretFault,
  systemClock,
  type WebhookAnswer,
  type WebhookRequest,
} from '@reply/sink/channel'
import type { SlackApi, SlackSocket } from './api.ts'
import { SlackError } from './error.ts'
import { createReceiver } from './receive.ts'
import { requireToken, type SlackSinkOptions, slackSink } from './sink.ts'
import { createListening } from './socket.ts'
import { createThreads } from './threads.ts'
import { createSlackWebhook } from './webhook.ts'

/** How to reach Slack, what to do with what people write, and the defaults of the channel's sinks. */
export interface SlackChannelOptions
  extends Omit<SlackSinkOptions, 'channelId' | 'threadTs' | 'replyTo' | 'recipient' | 'onError'> {
  /**
   * Where events come from: a socket, the host's server (`webhook` or `listener`), or the host's own app
   * (`handleEvent`).
   */
  readonly events: 'socket' | 'http' | 'own'
  /**
   * Called for each action of a person, in order and once. It may take any time, and may wait for a person's next
   * action: Slack has its acknowledgement by then. What it throws goes to `onError`.
   */
  readonly onInbound: (inbound: Inbound) => unknown
  /**
   * With `socket`: `new SocketModeClient({ appToken, autoReconnectEnabled: false })`. The channel reconnects by itself.
   */
  readonly socket?: SlackSocket | undefined
  /** With `http`: the Signing Secret on the app's page. */
  readonly signingSecret?: string | undefined
  /** Receives the errors that the channel and its sinks recovered from. Default: errors are dropped. */
  readonly onError?: ((error: Error) => void) | undefined
  /** How long `handleEvent` waits for `onInbound`, in ms. Default 5,000. */
  readonly handleMs?: number | undefined
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
   * Handles one request from Slack: an event, an interaction, or the URL verification. 200: accepted, or a repeat; 400:
   * unreadable; 401: not from Slack, or older than five minutes; 405: not a POST; 413: too large. Throws `invalid`
   * without a `signingSecret`.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same, as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** Takes an event's body or an interaction's payload that the host's own app acknowledged. Never rejects. */
  handleEvent(body: unknown): Promise<void>
}

/** Throws `SlackError` of type `invalid` for unusable options. */
export function slackChannel(options: SlackChannelOptions): SlackChannel {
  const { api, events, onInbound, socket, signingSecret, clock = systemClock } = options
  const onError = safeOnError(options.onError)
  const { handleMs = 5000, timeoutMs = 30_000, maxBytes = 1_048_576 } = options
  const threads = createThreads()
  const words = { ...defaultWords, ...options.words }
  const receive = createReceiver({ api, onInbound, onError, clock, handleMs, timeoutMs, words, threads })
  const taken = new Set<Promise<void>>()
  const listening =
    events === 'socket' ? createListening({ socket: requireSocket(socket), take, onError, clock }) : undefined
  requireToken(api)
  if (events === 'http' || signingSecret !== undefined) requireSecret(signingSecret)
  const webhook = signingSecret ? createSlackWebhook({ signingSecret, take, maxBytes, clock }) : undefined
  warn(api, onError)
  return {
    sinkFor,
    start: () => listening?.start(),
    stop,
    webhook: async (request) => await secured().take(request),
    listener: (request, response) => secured().listener(request, response),
    handleEvent: receive,
  }

  function take(body: unknown): void {
    const one = receive(body).finally(() => taken.delete(one))
    taken.add(one)
  }

  async function stop(): Promise<void> {
    await listening?.stop()
    await Promise.all(taken)
  }

  function sinkFor(at: Inbound | SinkPlace, more: Partial<SlackSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    const { policy, words, mayAnswer, store } = options
    threads.join(chat)
    return slackSink({
      ...{ api, policy, words, mayAnswer, answerers, store, timeoutMs, onError, clock },
      channelId: chat.id,
      threadTs: chat.thread,
      replyTo: replyTo?.id,
      recipient: threads.recipientIn(chat),
      ...more,
    })
  }

  function secured(): NonNullable<typeof webhook> {
    if (webhook) return webhook
    throw new SlackError('invalid', 'A webhook needs a signingSecret: without one, anyone could post to it.')
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
