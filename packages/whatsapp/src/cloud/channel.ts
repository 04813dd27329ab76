import { createHmac } from 'node:crypto'
import { systemClock } from '@reply/core'
import { wallTime } from '@reply/core/internal'
import {
  type AnswerInbound,
  createSink,
  type Inbound,
  type Policy,
  type Sink,
  type SinkPlace,
  type WebhookAnswer,
  type WebhookRequest,
} from '@reply/sink'
import {
  type ChannelOptions,
  type ChannelSinkOptions,
  createInboundReceiver,
  createWebhook,
  inboundOptionsOf,
  pacerOf,
  placeOf,
  secretFault,
  type WebhookRoutes,
} from '@reply/sink/channel'
import { clip, createOpenTasks, type InboundOptions, type InboundPlace, type WebhookHead } from '@reply/sink/internal'
import { secretComparer } from '@reply/sink/node'
import { cureOf, toCloudPortError, WhatsAppError } from '../error.ts'
import { cloudLimits, maxWebhookBytes, textLength } from '../limits.ts'
import { escapeWhatsApp, renderWhatsApp } from '../render.ts'
import type { CloudClient } from './api.ts'
import { type CloudEvent, type CloudFact, type CloudReceived, parseWebhook } from './inbound.ts'
import { createCloudPort, recipientOf } from './port.ts'
import { sharedReports } from './reports.ts'

/** Options of `whatsappSink`. */
export interface WhatsAppSinkOptions extends ChannelSinkOptions {
  /** `createCloudClient({ token, phoneNumberId })`. Sinks on one client share its rate limits. */
  readonly client: CloudClient
  /** The person to write to: a number with its country code, or a business-scoped user id. */
  readonly to: string
  /** The prompt's `wamid`. The reply quotes it, and people see that the bot is typing. */
  readonly replyTo?: string | undefined
  /**
   * Default: tool notices at most every 60 s, a heartbeat after 3 min, code of more than 2,000 UTF-16 units as a file.
   */
  readonly policy?: Partial<Policy> | undefined
}

/** Rare progress notices, because each message notifies and the limit is one in 6 s. */
export const cloudPolicy: Partial<Policy> = { toolThrottleMs: 60_000, heartbeatMs: 180_000, documentLength: 2000 }

/** Shows replies to one person through the Cloud API. Throws `SinkError` of type `invalid` for an unusable policy. */
export function whatsappSink(options: WhatsAppSinkOptions): Sink {
  const { client, to, replyTo, policy, texts, timeoutMs, clock = systemClock } = options
  return createSink({
    ...options,
    port: createCloudPort({ client, to, replyTo, timeoutMs, clock, listLabel: texts?.fillIn }),
    render: renderWhatsApp,
    chat: { id: to, kind: 'private' },
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer: pacerOf(client, clock),
    policy: { ...cloudPolicy, ...policy },
  })
}

/**
 * The number, the webhook's secrets, your `onInbound`, and defaults for the channel's sinks. `onError` also receives the
 * messages that WhatsApp could not deliver.
 */
export interface WhatsAppChannelOptions extends ChannelOptions, Pick<WhatsAppSinkOptions, 'client' | 'policy'> {
  /** The app secret from the app's basic settings. Meta signs its requests with it. */
  readonly appSecret: string
  /** Any unguessable string of at least 8 characters: the Verify token entered in the webhook's settings. */
  readonly verifyToken: string
  /**
   * Skips messages older than this, in ms: Meta redelivers for days. Default 24 h, because WhatsApp allows no answer
   * after that.
   */
  readonly maxAgeMs?: number | undefined
  /** Largest webhook request body, in bytes. Default 3 MiB, the most that Meta sends. */
  readonly maxBytes?: number | undefined
}

/** A business number that shows replies and receives messages and presses. */
export interface WhatsAppChannel extends WebhookRoutes {
  /**
   * Creates a sink for the chat of an inbound. It replies to that message, and only its author may answer asks. To let
   * others answer, pass `{ chat, replyTo }` and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<WhatsAppSinkOptions>): Sink
  /**
   * Refuses further requests with 503, so that Meta redelivers them. Resolves when all received events are handled. Stop
   * your sinks yourself.
   */
  stop(): Promise<void>
}

/** Creates a channel for one number on Meta's Cloud API. Throws `WhatsAppError` of type `invalid` for unusable options. */
export function whatsappChannel(options: WhatsAppChannelOptions): WhatsAppChannel {
  return createCloudChannel(options)
}

/** Tells other processes a fact. Resolves with false if its webhook must be redelivered. Never rejects. */
type ShareFact = (fact: CloudFact) => Promise<boolean>

/** Like `whatsappChannel`. With `share`, other processes work with the number, too. */
export function createCloudChannel(options: WhatsAppChannelOptions, share?: ShareFact): WhatsAppChannel {
  const { client, appSecret, verifyToken, maxAgeMs = 86_400_000, maxBytes = maxWebhookBytes } = options
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  requireSecret('appSecret', appSecret)
  requireSecret('verifyToken', verifyToken)
  const receive = createCloudReceiver(client, maxAgeMs, inbound, share)
  const requests = createOpenTasks()
  let isStopped = false
  const isVerifyToken = secretComparer(verifyToken)
  const webhook = createWebhook({ refuse, take: answerRequest, maxBytes, clock })
  return {
    sinkFor,
    refuse: webhook.refuse,
    webhook: webhook.take,
    listener: webhook.listener,
    fetch: webhook.fetch,
    stop,
  }

  /**
   * Returns a refusal by the head alone, before the body is read: 503 after the stop, 403 for a GET that is not Meta's check
   * with the right token, 405 for other methods than POST, and 401 without a signature. Undefined otherwise.
   */
  function refuse(head: WebhookHead): WebhookAnswer | undefined {
    // Meta redelivers the request, perhaps to your next process.
    if (isStopped) return { status: 503 }
    const method = head.method.toUpperCase()
    if (method === 'GET') return isVerification(head) ? undefined : { status: 403 }
    if (method !== 'POST') return { status: 405 }
    return signatureIn(head) ? undefined : { status: 401 }
  }

  /**
   * Checks the signature, and passes the events on. Answers a GET with its challenge. Resolves with 401 for a wrong signature,
   * 400 for an unreadable body, and 503 if Meta must redeliver an event.
   */
  async function answerRequest(request: WebhookRequest): Promise<WebhookAnswer> {
    // Meta verifies the URL with this GET when the webhook is set up. `refuse` has checked the token.
    if (request.method.toUpperCase() === 'GET')
      return { status: 200, body: { type: 'text/plain', text: queryOf(request).get('hub.challenge') ?? '' } }
    const isSignature = secretComparer(createHmac('sha256', appSecret).update(request.body).digest('hex'))
    if (!isSignature(signatureIn(request) ?? '')) return { status: 401 }
    const events = parseWebhook(request.body, client.phoneNumberId)
    if (!events) return { status: 400 }
    return { status: (await requests.add(receive(events))) ? 200 : 503 }
  }

  /** Whether the request is Meta's check of the URL with the right verify token. */
  function isVerification(head: WebhookHead): boolean {
    const query = queryOf(head)
    return isVerifyToken(query.get('hub.verify_token') ?? '') && query.get('hub.mode') === 'subscribe'
  }

  /** Responds with 503 from now on. Resolves when the requests before are handled. */
  async function stop(): Promise<void> {
    isStopped = true
    await requests.settled()
  }

  /**
   * Creates a sink that replies to the inbound's message and lets only its author answer. Options in `more` take precedence.
   */
  function sinkFor(at: Inbound | SinkPlace, more: Partial<WhatsAppSinkOptions> = {}): Sink {
    const { chat, replyTo, answerers } = placeOf(at)
    return whatsappSink({
      ...options,
      answerers,
      onError,
      clock,
      to: chat.id,
      replyTo: replyTo?.id,
      ...more,
    })
  }
}

/** Throws `invalid` unless the secret is usable and has at least 8 characters. `name` is that of its option. */
function requireSecret(name: string, value: string): void {
  const fault = secretFault(value, { minLength: 8 })
  if (fault === undefined) return
  const why = 'without it, anyone could write to the webhook'
  throw new WhatsAppError('invalid', `The webhook needs ${name}, of at least 8 characters: ${why}. ${fault}`)
}

/**
 * Meta's signature of the raw body.
 * https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads
 */
const signatureHeader = 'x-hub-signature-256'

/** Returns the signature in lower-case hexadecimal digits. Undefined if it is missing or malformed. */
function signatureIn({ headers }: WebhookHead): string | undefined {
  const signature = headers[signatureHeader]
  return typeof signature === 'string' ? /^sha256=([\da-f]{64})$/i.exec(signature)?.[1]?.toLowerCase() : undefined
}

/** Returns the parameters of a request's URL. None without a query. */
function queryOf({ url = '' }: WebhookHead): URLSearchParams {
  return new URLSearchParams(url.split('?')[1] ?? '')
}

/**
 * Passes a webhook's events to your handler, once and in order. Chats don't wait for each other. Resolves when the handler
 * is done or after `handleMs`, with false if an event must be redelivered. Never rejects.
 */
type ReceiveCloud = (events: readonly CloudEvent[]) => Promise<boolean>

/** How long after a person's message WhatsApp accepts messages for them, in ms. */
const windowMs = 86_400_000

/** A press is an ordinary message, without a deadline for its answer. */
const pressMs = 86_400_000

/** Returns a function that passes events to the host once. It resolves with false if Meta must redeliver one. */
function createCloudReceiver(
  client: CloudClient,
  maxAgeMs: number,
  inboundOptions: InboundOptions,
  share: ShareFact | undefined,
): ReceiveCloud {
  const { onError, clock } = inboundOptions
  const reports = sharedReports(client)
  reports.startListening(wallTime(clock))
  const { receive, answerFor } = createInboundReceiver({
    ...inboundOptions,
    client,
    account: `whatsapp/${client.phoneNumberId}`,
    toPortError: toCloudPortError,
    Failure: WhatsAppError,
    pressMs,
    limitsOf: () => cloudLimits,
  })
  return async (events) => (await Promise.all(events.map(handleEvent))).every(Boolean)

  /**
   * Passes messages on, records statuses and reports failures. Every message from the last 24 h opens its chat. Reports a
   * message that is older than `maxAgeMs` instead of passing it on. Resolves with false if the event must be redelivered.
   */
  async function handleEvent(event: CloudEvent): Promise<boolean> {
    if (event.type !== 'message') {
      if (event.type === 'status') {
        if (share && reports.isNews(event.status) && !(await share(event))) return false
        reports.recordStatus(event.status)
      }
      reportFailure(event)
      return true
    }
    const { id, at, people, received } = event
    const ageMs = wallTime(clock) - at
    // Also a sticker that the channel ignores.
    if (ageMs < windowMs) {
      const textID = received?.type === 'text' ? id : undefined
      // First, so that a process that gets the message from this one knows that the chat is open.
      if (share && people.length > 0 && !(await share({ type: 'wrote', people, at, textID }))) return false
      for (const person of people) reports.openChat(person, at)
    }
    if (received && ageMs > maxAgeMs) {
      const what = `Skipped a message from ${received.actor.id} that arrived ${ageMs} ms late.`
      onError(new WhatsAppError('stale', what))
      return true
    }
    return (await receive(id, () => received && inboundOf(received))) !== 'not-taken'
  }

  /** Reports a failure to `onError`. Ignores the status of a message that was delivered. */
  function reportFailure(event: Exclude<CloudEvent, { readonly type: 'message' }>): void {
    switch (event.type) {
      case 'failed':
        return onError(new WhatsAppError('delivery', withCure('The Cloud API reports', event)))
      case 'status': {
        const { failure, ref, people } = event.status
        if (!failure) return
        const what = `Message ${ref.id} to ${people[0] ?? 'an unknown number'} was not delivered:`
        return onError(new WhatsAppError('delivery', withCure(what, failure), { messageRef: { id: ref.id } }))
      }
      case 'malformed':
        return onError(new WhatsAppError('malformed', "Skipped webhook content that can't be read."))
      default:
        return event satisfies never
    }
  }

  /** Returns the inbound with its `answer`, which is a reply to the person's message. */
  function inboundOf(received: CloudReceived): Inbound {
    if (received.type === 'text') return { ...received, answer: answerWithReply(received, received.messageRef.id) }
    const { ownId, ...press } = received
    return { ...press, answer: answerWithReply(press, ownId) }
  }

  /** Returns an answer that is sent as a reply to that message. */
  function answerWithReply(about: InboundPlace, messageId: string): AnswerInbound {
    const send = async (text: string, signal: AbortSignal): Promise<unknown> => {
      const body = clip(escapeWhatsApp(text), textLength)
      const message = {
        ...recipientOf(about.chat.id),
        context: { message_id: messageId },
        type: 'text',
        text: { body, preview_url: false },
      }
      return await client.messages(message, signal)
    }
    return answerFor(about, { send, isMessage: true })
  }
}

/** Returns the text of an error, with how to fix it if that is known. */
function withCure(what: string, { code, text }: { readonly code: number; readonly text: string }): string {
  return [`${what} ${code} ${text}`, cureOf(code)].filter(Boolean).join('. ')
}
