import { createHmac } from 'node:crypto'
import type { Clock } from '@reply/core'
import { wallTime } from '@reply/core/internal'
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
  createWebhook,
  type InboundStatus,
  inboundOptionsOf,
  placeOf,
  secretFault,
  type Webhook,
  type WebhookRoutes,
  webhookRoutes,
} from '@reply/sink/channel'
import { createInboundMonitor, type WebhookHead } from '@reply/sink/internal'
import { secretComparer } from '@reply/sink/node'
import { isTs, type SlackApi, type SlackSocket } from './api.ts'
import { SlackError } from './error.ts'
import { readRequest } from './inbound.ts'
import { requestAgeS } from './limits.ts'
import { createReceiver, createThreads } from './receive.ts'
import { requireToken, type SlackSinkOptions, slackSink } from './sink.ts'
import { createSocketListener } from './socket.ts'
import { recipientOf } from './stream.ts'

/** The app, where its events come from, your `onInbound`, and defaults for the channel's sinks. */
export interface SlackChannelOptions extends ChannelOptions, Pick<SlackSinkOptions, 'api' | 'policy'> {
  /**
   * Where events come from. `socket`: Socket Mode. `http`: your server passes on Slack's requests. `own`: your own app,
   * for example Bolt, calls `handleEvent`.
   */
  readonly events: 'socket' | 'http' | 'own'
  /** Required with `socket`: `new SocketModeClient({ appToken, autoReconnectEnabled: false })`. The channel reconnects. */
  readonly socket?: SlackSocket | undefined
  /**
   * With `socket`: called when events arrive, when Slack rejects the app or is unreachable for a minute, and when events
   * arrive again. The connection is retried in any case.
   */
  readonly onInboundStatus?: ((status: InboundStatus) => void) | undefined
  /** Required with `http`: the Signing Secret on the app's page. */
  readonly signingSecret?: string | undefined
  /**
   * Passes on every message that Slack delivers to the app, with `isMention` on mentions. Default false: in channels,
   * only mentions and the messages of threads in which the bot was mentioned or posts.
   */
  readonly receivesAll?: boolean | undefined
  /**
   * When an event is acknowledged. `at once`: on arrival. `handled`: when `onInbound` is done, or after 2.5 s, because Slack
   * waits 3 s. With `handled`, Slack resends an event that a crashed process lost. Default `at once`.
   */
  readonly acknowledges?: 'at once' | 'handled' | undefined
  /**
   * Names of slash commands, without the slash, that arrive as texts, for example "/ask Why?". `all`: every command. Other
   * commands are acknowledged without an answer, so that your app can handle them. Default: none.
   */
  readonly commands?: readonly string[] | 'all' | undefined
  /** Largest request body, in bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** An app that shows replies and receives messages and presses. */
export interface SlackChannel extends WebhookRoutes {
  /**
   * Creates a sink for the thread of an inbound. Only its author may answer asks. To let others answer, pass
   * `{ chat }` and `mayAnswer`. Streams are shown to the place's author, or else to the person who wrote last in the thread.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<SlackSinkOptions>): Sink
  /** Connects the socket. Does nothing unless `events` is `socket`. */
  start(): void
  /**
   * Stops receiving. Resolves when all received events are handled, after at most `handleMs` each. Sinks continue: stop
   * them yourself.
   */
  stop(): Promise<void>
  /** Handles an event's body or an interaction's payload that your own app has acknowledged. Never rejects. */
  handleEvent(body: unknown): Promise<void>
}

/** Slack waits 3 s for an acknowledgement. https://docs.slack.dev/apis/events-api#acknowledging */
const acknowledgeMs = 2500

/** Creates a channel for one app. Throws `SlackError` of type `invalid` for unusable options. */
export function slackChannel(options: SlackChannelOptions): SlackChannel {
  const { api, events, socket, signingSecret, commands = [], maxBytes, receivesAll = false } = options
  const waitsForHost = options.acknowledges === 'handled'
  const baseOptions = inboundOptionsOf(options)
  const inbound = waitsForHost
    ? { ...baseOptions, handleMs: Math.min(baseOptions.handleMs, acknowledgeMs) }
    : baseOptions
  const { onError, clock } = inbound
  const threads = createThreads()
  const isOwnCommand = (name: string): boolean => commands === 'all' || commands.includes(name)
  const texts = { ...defaultTexts, ...options.texts }
  const { receive, settled } = createReceiver({ api, texts, threads, receivesAll, isOwnCommand, ...inbound })
  /** Passes an event on. Resolves when it may be acknowledged, with false if it must not be. */
  const receiveBody = async (body: unknown): Promise<boolean> => {
    const isTaken = receive(body)
    return waitsForHost ? await isTaken : true
  }
  const monitor = createInboundMonitor({ onInboundStatus: options.onInboundStatus, onError, clock })
  const listener =
    events === 'socket'
      ? createSocketListener({ socket: requireSocket(socket), receiveBody, onError, monitor, clock })
      : undefined
  requireToken(api)
  if (events === 'http' || signingSecret !== undefined) requireSecret(signingSecret)
  const webhook = signingSecret ? slackWebhook(signingSecret, receiveBody, { maxBytes, clock }) : undefined
  reportRetryingClient(api, onError)
  return {
    sinkFor,
    start: () => listener?.start(),
    stop: async () => {
      await listener?.stop()
      await settled()
    },
    ...webhookRoutes(webhook, () => {
      return new SlackError('invalid', 'A webhook needs a signingSecret. Without one, anyone could post to it.')
    }),
    handleEvent: async (body) => void (await receive(body)),
  }

  /** Creates a sink that joins the thread and lets only the inbound's author answer. Options in `more` take precedence. */
  function sinkFor(at: Inbound | SinkPlace, more: Partial<SlackSinkOptions> = {}): Sink {
    const { chat, replyTo, author, answerers } = placeOf(at)
    threads.join(chat)
    return slackSink({
      ...options,
      answerers,
      onError,
      clock,
      channelId: chat.id,
      threadTs: chat.thread,
      // A slash command is not a message.
      replyTo: replyTo && isTs(replyTo.id) ? replyTo.id : undefined,
      // Another process may have received the message.
      recipient: recipientOf(author) ?? threads.recipientIn(chat),
      ...more,
    })
  }
}

/** Throws `invalid` unless the secret is usable and has at least 8 characters. */
function requireSecret(signingSecret: string | undefined): void {
  const fault = secretFault(signingSecret, { minLength: 8 })
  if (fault === undefined) return
  throw new SlackError('invalid', `A webhook needs a signingSecret: the Signing Secret on the app's page. ${fault}`)
}

/** Returns the socket. Throws `invalid` without one. */
function requireSocket(socket: SlackSocket | undefined): SlackSocket {
  if (socket) return socket
  throw new SlackError(
    'invalid',
    "events: 'socket' needs a socket: new SocketModeClient({ appToken, autoReconnectEnabled: false }).",
  )
}

/** Reports a client with its own retries, which may post a message twice, or late. */
function reportRetryingClient(api: SlackApi, onError: (error: SlackError) => void): void {
  const repeats = 'rejectRateLimitedCalls' in api && api.rejectRateLimitedCalls === false
  if (!repeats) return
  const cure = 'Create it with { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }.'
  onError(
    new SlackError('client', `This WebClient retries calls on its own, so a message may be posted twice. ${cure}`),
  )
}

/** Slack signs each request. https://docs.slack.dev/authentication/verifying-requests-from-slack */
const signatureHeader = 'x-slack-signature'
const timeHeader = 'x-slack-request-timestamp'

/** The most bytes of a certificate check. */
const checkBytes = 200

/**
 * Creates the webhook. It responds after `receive`, within Slack's limit of three seconds, and with an error if `receive`
 * resolves with false.
 */
function slackWebhook(
  signingSecret: string,
  receive: (body: unknown) => Promise<boolean>,
  { maxBytes, clock }: { readonly maxBytes: number | undefined; readonly clock: Clock },
): Webhook {
  return createWebhook({ refuse, take: answerRequest, maxBytes, clock })

  /**
   * Returns 405 for all but POST, and 401 for unsigned, old and future-dated requests. Their body is then not read. Undefined
   * otherwise, also for what may be an unsigned certificate check.
   */
  function refuse({ method, headers }: WebhookHead): WebhookAnswer | undefined {
    if (method.toUpperCase() !== 'POST') return { status: 405 }
    if (isUnsignedForm(headers)) return undefined
    const signature = headers[signatureHeader]
    const time = headers[timeHeader]
    if (typeof signature !== 'string' || !/^v0=[\da-f]{64}$/.test(signature)) return { status: 401 }
    if (typeof time !== 'string' || !/^\d{1,12}$/.test(time)) return { status: 401 }
    return Math.abs(wallTime(clock) / 1000 - Number(time)) > requestAgeS ? { status: 401 } : undefined
  }

  /**
   * Checks the signature. Then answers a challenge or a certificate check, or passes the body on. Resolves with 401 for a
   * wrong signature, 400 for an unreadable body, and 503 if the host did not take the body. Without a signature, only a
   * certificate check gets 200.
   */
  async function answerRequest({ headers, body }: WebhookRequest): Promise<WebhookAnswer> {
    if (isUnsignedForm(headers)) {
      const isCheck = body.length <= checkBytes && readRequest(body)?.type === 'check'
      return { status: isCheck ? 200 : 401 }
    }
    const hmac = createHmac('sha256', signingSecret)
      .update(`v0:${String(headers[timeHeader])}:`)
      .update(body)
    const isSignature = secretComparer(`v0=${hmac.digest('hex')}`)
    if (!isSignature(String(headers[signatureHeader]))) return { status: 401 }
    const read = readRequest(body)
    switch (read?.type) {
      case undefined:
        return { status: 400 }
      case 'challenge':
        return { status: 200, body: { type: 'text/plain', text: read.challenge } }
      case 'check':
        return { status: 200 }
      case 'body':
        // No body, because Slack would show it to the person who sent a command.
        return { status: (await receive(read.body)) ? 200 : 503 }
      default:
        return read satisfies never
    }
  }
}

/**
 * Whether a request may be a certificate check, which may arrive unsigned. It has no effect. Bolt's `verifySlackRequest`
 * accepts those, too.
 */
function isUnsignedForm(headers: WebhookHead['headers']): boolean {
  const length = Number(headers['content-length'] ?? Number.NaN)
  const isForm = String(headers['content-type']).startsWith('application/x-www-form-urlencoded')
  return headers[signatureHeader] === undefined && isForm && length <= checkBytes
}
