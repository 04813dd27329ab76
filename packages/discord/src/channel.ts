import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Clock } from '@reply/core'
import { wallTime } from '@reply/core/internal'
import type { Inbound, Sink, SinkPlace, WebhookAnswer } from '@reply/sink'
import {
  type ChannelOptions,
  createWebhook,
  inboundOptionsOf,
  placeOf,
  secretFault,
  type Webhook,
  type WebhookRoutes,
  webhookRoutes,
} from '@reply/sink/channel'
import { jsonOf, type WebhookHead } from '@reply/sink/internal'
import type { Body, DiscordClient } from './api.ts'
import { DiscordError } from './error.ts'
import { type Interaction, isMalformed, toEvent, toInteraction } from './inbound.ts'
import { signatureMs } from './limits.ts'
import { createReceiver, emptyResponse, type Receiver } from './receive.ts'
import { type DiscordSinkOptions, discordSink } from './sink.ts'

/** The bot, where its events come from, your `onInbound`, and defaults for the channel's sinks. */
export interface DiscordChannelOptions extends ChannelOptions, Pick<DiscordSinkOptions, 'rest' | 'policy'> {
  /**
   * Where events come from. `gateway`: your discord.js `client`. `http`: your server passes on Discord's requests, which
   * bring buttons, dialogs and commands, but no messages. `own`: your program calls `handleEvent`.
   */
  readonly updates: 'gateway' | 'http' | 'own'
  /**
   * Required with `gateway`: your client, with the intents `GuildMessages`, `DirectMessages` and `MessageContent`. You log
   * it in.
   */
  readonly client?: DiscordClient | undefined
  /** Required with `http`: the application's public key from Discord's developer portal, 64 hexadecimal digits. */
  readonly publicKey?: string | undefined
  /**
   * Names of slash commands, without the slash, that arrive as texts, for example "/ask Why?". Your program handles all
   * others. You may add to a set later. Default: none.
   */
  readonly commands?: readonly string[] | ReadonlySet<string> | undefined
  /** Largest webhook request body, in bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** A bot that shows replies and receives messages and presses. */
export interface DiscordChannel extends WebhookRoutes {
  /**
   * Creates a sink for the chat of an inbound. It replies to that message, and only its author may answer asks. To let
   * others answer, pass `{ chat, replyTo }` and `mayAnswer`.
   */
  sinkFor(at: Inbound | SinkPlace, options?: Partial<DiscordSinkOptions>): Sink
  /** Starts listening to the client. Does nothing unless `updates` is `gateway`. */
  start(): void
  /** Stops listening. Resolves when all received events are handled. Stop your sinks and the client yourself. */
  stop(): Promise<void>
  /** Handles a gateway event of type `MESSAGE_CREATE` or `INTERACTION_CREATE`: `{ t, d }`. Skips others. Never rejects. */
  handleEvent(packet: unknown): Promise<void>
}

/** Creates a channel for one bot. Throws `DiscordError` of type `invalid` for unusable options. */
export function discordChannel(options: DiscordChannelOptions): DiscordChannel {
  const { rest, updates, client, publicKey, commands = [], maxBytes } = options
  const inbound = inboundOptionsOf(options)
  const { onError, clock } = inbound
  if (updates === 'gateway' && !client)
    throw new DiscordError('invalid', "The gateway needs a client: pass discord.js's `new Client(...)`.")
  const filter = { commands: commands instanceof Set ? commands : new Set(commands), botId: () => client?.user?.id }
  const { receive, settled } = createReceiver(rest, inbound)
  const webhook =
    publicKey === undefined && updates !== 'http' ? undefined : createSignedWebhook(parsePublicKey(publicKey))
  let isListening = false
  return {
    sinkFor,
    start: () => {
      if (updates === 'gateway' && !isListening) client?.on('raw', onRaw)
      isListening = true
    },
    stop: async () => {
      client?.off('raw', onRaw)
      isListening = false
      await settled()
    },
    ...webhookRoutes(webhook, () => {
      return new DiscordError('invalid', 'A webhook needs a publicKey: without one, anyone could post to it.')
    }),
    handleEvent,
  }

  /**
   * Creates a sink that replies to the inbound's message and lets only its author answer. Options in `more` take precedence.
   */
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

  /** Creates a webhook that only accepts requests signed with that key. */
  function createSignedWebhook(key: KeyObject): Webhook {
    return createWebhook({
      refuse: (head) => refuseUnsigned(head, clock),
      take: async (request) => {
        const signature = signatureIn(request)
        if (!signature || !isSigned(request.body, signature, key)) return { status: 401 }
        return await answerInteraction(toInteraction(jsonOf(request.body), filter), receive)
      },
      maxBytes,
      clock,
    })
  }

  /** Passes an event on, and does not wait for the host. */
  function onRaw(packet: unknown): void {
    void handleEvent(packet)
  }

  /** Passes an event on, and waits until the host is done. Ignores events of other types, and reports unreadable ones. */
  async function handleEvent(packet: unknown): Promise<void> {
    const event = toEvent(packet, filter)
    if (!event) {
      if (isMalformed(packet)) onError(new DiscordError('malformed', "Skipped a Discord event that can't be read."))
      return
    }
    await receive(event)
  }
}

/**
 * Discord signs the time and the body.
 * https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint-validating-security-request-headers
 */
const header = { signature: 'x-signature-ed25519', timestamp: 'x-signature-timestamp' } as const

/** DER prefix of the 32 bytes of an Ed25519 public key. RFC 8410. */
const keyHead = Buffer.from('302a300506032b6570032100', 'hex')

/**
 * Returns 405 for all but POST, and 401 for requests without a usable and recent signature. Undefined if the body may be read.
 */
function refuseUnsigned(head: WebhookHead, clock: Clock): WebhookAnswer | undefined {
  if (head.method.toUpperCase() !== 'POST') return { status: 405 }
  const signature = signatureIn(head)
  if (!signature || Math.abs(wallTime(clock) - Number(signature.timestamp) * 1000) > signatureMs) return { status: 401 }
  return undefined
}

/**
 * Resolves with the response to Discord's request. It is the first response to the interaction, or a status of 400 for
 * one that is unreadable or isn't the channel's, and for a foreign press that your handler didn't answer. A repeat gets an
 * empty response.
 */
async function answerInteraction(
  interaction: Interaction | undefined,
  receive: Receiver['receive'],
): Promise<WebhookAnswer> {
  if (!interaction) return { status: 400 }
  if (interaction.type === 'ping') return jsonAnswer({ type: 1 })
  const { received } = interaction
  if (!received) return { status: 400 }
  const isForeign = received.type === 'press' && received.isForeign === true
  return await new Promise((resolve) => {
    const sendFirst = async (body: Body): Promise<void> => resolve(jsonAnswer(body))
    // A new interaction always gets its response from your program or the timer. Only a repeat gets an empty one here.
    const answerEmpty = (): void => resolve(jsonAnswer(emptyResponse({ isOnMessage: true })))
    const handled = receive(interaction, sendFirst)
    // If your program didn't answer its own press here, its own server may.
    if (handled && isForeign) void handled.then(() => resolve({ status: 400 }))
    else if (handled) void handled.then((result) => result === 'repeat' && answerEmpty())
    else answerEmpty()
  })
}

/** A signature in hexadecimal digits, and the signed time in seconds. */
interface Signature {
  readonly signature: string
  readonly timestamp: string
}

/** Returns the signature and the time in the headers. Undefined if one is missing or malformed. */
function signatureIn({ headers }: WebhookHead): Signature | undefined {
  const signature = headers[header.signature]
  const timestamp = headers[header.timestamp]
  if (typeof signature !== 'string' || !/^[0-9a-f]{128}$/i.test(signature)) return undefined
  if (typeof timestamp !== 'string' || !/^\d{1,12}$/.test(timestamp)) return undefined
  return { signature, timestamp }
}

/** Whether the signature of a body is valid. Needs no constant time, because verification uses only the public key. */
function isSigned(body: Uint8Array, { signature, timestamp }: Signature, key: KeyObject): boolean {
  return verify(null, Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'hex'))
}

/**
 * Small-order points, without the sign bit. Anyone can forge signatures for these keys, and OpenSSL accepts them. The
 * first one is also a likely placeholder: all zeros. https://eprint.iacr.org/2020/1244
 */
const weakKeys: ReadonlySet<string> = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
])

/** Returns the Ed25519 key of 64 hexadecimal digits. Throws `invalid` for anything else, and for a weak key. */
function parsePublicKey(publicKey: string | undefined): KeyObject {
  const form = { pattern: /^[0-9a-f]{64}$/i, description: 'of that form' }
  const fault =
    secretFault(publicKey, { form }) ?? (isWeak(publicKey) ? 'Anyone could sign with this weak key.' : undefined)
  if (publicKey !== undefined && fault === undefined) {
    const key = Buffer.concat([keyHead, Buffer.from(publicKey, 'hex')])
    return createPublicKey({ key, format: 'der', type: 'spki' })
  }
  const needed = 'A publicKey of 64 hexadecimal digits is required for interactions over HTTP'
  const cure = 'It is shown as "Public Key" on the application\'s page in Discord\'s developer portal.'
  throw new DiscordError('invalid', `${needed}. ${fault} ${cure}`)
}

/** Whether anyone could sign with this key, because it is a point of small order. */
function isWeak(publicKey = ''): boolean {
  const bytes = Buffer.from(publicKey, 'hex')
  bytes[31] = (bytes[31] ?? 0) & 0x7f
  return weakKeys.has(bytes.toString('hex'))
}

/** Returns a response of status 200 with this JSON body. */
function jsonAnswer(body: Body): WebhookAnswer {
  return { status: 200, body: { type: 'application/json', text: JSON.stringify(body) } }
}
