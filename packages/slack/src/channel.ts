import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  words as defaultWords,
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
import type { SlackApi, SlackSocket } from './api.ts'
import { SlackError } from './error.ts'
import { createHearing } from './hear.ts'
import { requireToken, type SlackSinkOptions, slackSink } from './sink.ts'
import { createListening } from './socket.ts'
import { createThreads } from './threads.ts'
import { createSlackWebhook } from './webhook.ts'

export interface SlackChannelOptions
  extends Omit<SlackSinkOptions, 'channelId' | 'threadTs' | 'replyTo' | 'recipient' | 'onError'> {
  /** How it hears: by a socket, by `webhook` or `listener` in the host's server, or by `handleEvent` from the host's own app. */
  readonly events: 'socket' | 'http' | 'own'
  /**
   * What people do, in order, each once. What it does with it may take as long as it likes, and wait for what they do next: Slack was
   * told before that it arrived. When it throws, `onError` is told.
   */
  readonly onInbound: (inbound: Inbound) => unknown
  /** With `socket`: `new SocketModeClient({ appToken, autoReconnectEnabled: false })`; the channel connects again by itself. */
  readonly socket?: SlackSocket | undefined
  /** With `http`: what the app's page shows as Signing Secret. */
  readonly signingSecret?: string | undefined
  /** What went wrong and was dealt with, the sinks' troubles too. Default: nobody is told. */
  readonly onError?: ((error: Error) => void) | undefined
  /** Default 5,000 ms: after it `handleEvent` resolves, whether the host is done or not. */
  readonly handleMs?: number | undefined
  /** Bytes of a request. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** Both ways at once: sinks for what the agent says, inbound for what people do. */
export interface SlackChannel {
  /**
   * A sink for the thread of an inbound; only its actor may answer what is asked. For other answerers give `{ chat }` instead,
   * and `mayAnswer`. Streams are for the person who spoke there last.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<SlackSinkOptions>): Sink
  /** Connects, where it hears by a socket. */
  start(): void
  /** Resolves when what came was handled, or has taken long enough. Sinks are stopped by who has them. */
  stop(): Promise<void>
  /**
   * One request of Slack's: an event, an interaction, or the check of the URL. 200: taken, or known already; 400: nothing that can be
   * read; 401: not from Slack, or older than five minutes; 405: no POST; 413: too large. Throws `invalid` without a `signingSecret`.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same as a listener of `node:http`. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** The body of an event, or the payload of an interaction, that the host's own app acknowledged. Never rejects. */
  handleEvent(body: unknown): Promise<void>
}

/** Throws `SlackError` of type `invalid` for options that can't be. */
export function slackChannel(options: SlackChannelOptions): SlackChannel {
  const { api, events, onInbound, socket, signingSecret, clock = systemClock } = options
  const onError = telling(options.onError)
  const { handleMs = 5000, timeoutMs = 30_000, maxBytes = 1_048_576 } = options
  const threads = createThreads()
  const words = { ...defaultWords, ...options.words }
  const hear = createHearing({ api, onInbound, onError, clock, handleMs, timeoutMs, words, threads })
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
    handleEvent: hear,
  }

  function take(body: unknown): void {
    const one = hear(body).finally(() => taken.delete(one))
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
    throw new SlackError('invalid', 'A webhook needs a signingSecret: without one anybody could write to it.')
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

/** What the client repeats by itself may come twice, and what it holds back comes late. */
function warn(api: SlackApi, onError: (error: SlackError) => void): void {
  const repeats = 'rejectRateLimitedCalls' in api && api.rejectRateLimitedCalls === false
  if (!repeats) return
  const cure = 'Make it with { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }.'
  onError(new SlackError('client', `This WebClient repeats calls by itself, so that a message may come twice. ${cure}`))
}
