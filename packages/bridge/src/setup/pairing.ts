import { randomInt } from 'node:crypto'
import { type Clock, systemClock } from '@reply/core'
import { type Actor, type Chat, type Inbound, memoryStore } from '@reply/sink'
import { type BridgeChannel, createWebhook } from '@reply/sink/channel'
import type { SecretSource } from '@reply/sink/internal'
import type { Bridge } from '../bridge.ts'
import { BridgeError } from '../error.ts'
import { createRateLimit } from '../people/rate-limit.ts'
import { type ServedBridge, serveBridge } from '../serve-bridge.ts'
import { texts } from '../texts.ts'

/** Without letters and digits that look alike. */
const codeLetters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/** How many messages of one person are checked in a minute. */
const triesPerMinute = 10

/** Returns a random code of eight letters and digits, in two groups. */
export function pairingCode(): string {
  const group = (): string => Array.from({ length: 4 }, () => codeLetters[randomInt(codeLetters.length)]).join('')
  return `${group()}-${group()}`
}

/** The address to listen on for webhooks. */
export interface ListenAddress {
  /** A name or address of this computer. */
  readonly host: string
  /** 0 chooses a free one. */
  readonly port: number
}

/** Options of `pair`. */
export interface PairingOptions<Config> {
  readonly channel: BridgeChannel<Config>
  readonly config: Config
  readonly secret: (source: SecretSource) => string
  /** Required for webhook channels. */
  readonly listen?: ListenAddress | undefined
  /** Called with each code once the channel can receive it. A second code replaces one that others could read. */
  readonly onCode: (code: string) => void
  /** Called with the address to which the platform must send its requests. */
  readonly onWebhook: (url: string) => void
  /** Called with errors that do not end the pairing. */
  readonly onError: (error: Error) => void
  readonly signal: AbortSignal
  readonly clock?: Clock | undefined
}

/** A person who wrote the code, and the private chat where they did. */
export interface Paired {
  readonly actor: Actor
  readonly chat: Chat
}

/**
 * Receives messages of a channel until a person writes the code to the bot in a private chat, and resolves with that
 * person and chat. A wrong code gets an answer, other messages don't. Resolves with undefined when it is aborted. Rejects if the
 * channel can't be started.
 */
export async function pair<Config>(options: PairingOptions<Config>): Promise<Paired | undefined> {
  const { channel, config, secret, listen, onCode, onWebhook, onError, signal, clock = systemClock } = options
  const rate = createRateLimit(triesPerMinute, clock)
  let code = pairingCode()
  let isPaired = false
  let setPaired = (_: Paired | undefined): void => {}
  const paired = new Promise<Paired | undefined>((resolve) => {
    setPaired = resolve
  })
  signal.addEventListener('abort', () => setPaired(undefined), { once: true })
  if (signal.aborted) return undefined
  const { webhook, start, stop } = await channel.create(config, {
    name: channel.type,
    secret,
    onError,
    clock,
    store: memoryStore(),
    onInbound: checkCode,
  })
  if (webhook && !listen) {
    const cure = `Start again with --listen and an address that the platform can reach, or type your id.`
    throw new BridgeError(
      'config',
      `${channel.type} receives messages as webhooks, so it can't receive the code. ${cure}`,
    )
  }
  let served: ServedBridge | undefined
  try {
    await start()
    if (webhook && listen) {
      const { listener } = createWebhook({ ...webhook, clock })
      const status: Bridge['status'] = () => ({ state: 'ready', problems: [], channels: {} })
      served = await serveBridge({ bridge: { status, listener: () => listener }, ...listen })
      onWebhook(`${served.url}/webhooks/${channel.type}`)
    }
    onCode(code)
    return await paired
  } finally {
    await served?.close()
    await stop()
  }

  /**
   * Pairs with the person who writes the code in a private chat, and answers a wrong one there. If the code is written in a
   * shared chat, replaces it, reports that and calls `onCode`. Ignores other messages, anonymous actors, and messages beyond
   * `triesPerMinute`.
   */
  async function checkCode(inbound: Inbound): Promise<void> {
    if (isPaired || inbound.type !== 'text' || inbound.actor.isAnonymous) return
    const { actor, chat, text } = inbound
    const isRight = normalizedCode(text) === normalizedCode(code)
    if (chat.kind !== 'private') {
      if (!isRight) return
      code = pairingCode()
      onError(new BridgeError('config', 'Someone wrote the code where others can read it, so it no longer counts.'))
      return onCode(code)
    }
    if (!rate.countIfAllowed(actor.id)) return
    if (isRight) {
      isPaired = true
      await inbound.answer(texts.paired).catch(onError)
      // Acknowledges the message first. Otherwise, the platform would redeliver it to the bridge as a prompt.
      setImmediate(() => setPaired({ actor, chat }))
      return
    }
    if (isCodeShaped(text)) await inbound.answer(texts.wrongCode).catch(onError)
  }
}

/** Returns a text in upper case, without spaces and hyphens, to compare codes. */
function normalizedCode(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}

/** Whether a text has the eight letters and digits of a code, in any case and with any hyphens and spaces. */
function isCodeShaped(text: string): boolean {
  return /^[A-Z\d]{8}$/.test(normalizedCode(text))
}
