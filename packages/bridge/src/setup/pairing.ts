import { randomInt } from 'node:crypto'
import { type Clock, systemClock } from '@reply/core'
import { type Actor, type Inbound, memoryStore } from '@reply/sink'
import { type BridgeChannel, createWebhook } from '@reply/sink/channel'
import type { SecretSource } from '@reply/sink/internal'
import type { Bridge } from '../bridge.ts'
import { BridgeError } from '../error.ts'
import { createRate } from '../people/rate-limit.ts'
import { type ServedBridge, serveBridge } from '../serve-bridge.ts'

/** Without letters and digits that look alike. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/** How many codes of one person are read in a minute. */
const triesPerMinute = 10

/** A code that can't be guessed: eight letters and digits, in two groups. */
export function pairingCode(): string {
  const group = (): string => Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join('')
  return `${group()}-${group()}`
}

/** Where to listen for a platform's requests. */
export interface ListenAddress {
  /** A name or address of this computer. */
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
}

/** What pairing needs. */
export interface PairingOptions<Config> {
  readonly channel: BridgeChannel<Config>
  readonly config: Config
  readonly secret: (source: SecretSource) => string
  /** For a channel that hears by requests. */
  readonly listen?: ListenAddress | undefined
  /** Gets each code, from when on it is heard: a second one if others could read the first. */
  readonly onCode: (code: string) => void
  /** Gets the address that the platform's requests have to reach. */
  readonly onWebhook: (url: string) => void
  /** Gets failures that it goes on after. */
  readonly onError: (error: Error) => void
  readonly signal: AbortSignal
  readonly clock?: Clock | undefined
}

/**
 * Hears a channel until a person writes the code to the bot, in a private chat, and resolves with that person. Who writes
 * another code is told so; everything else gets no answer. Undefined once aborted. Rejects if the channel can't be heard.
 */
export async function pair<Config>(options: PairingOptions<Config>): Promise<Actor | undefined> {
  const { channel, config, secret, listen, onCode, onWebhook, onError, signal, clock = systemClock } = options
  const rate = createRate({ perMinute: triesPerMinute, clock })
  let code = pairingCode()
  let isPaired = false
  let setPaired = (_: Actor | undefined): void => {}
  const paired = new Promise<Actor | undefined>((resolve) => {
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
    onInbound,
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

  async function onInbound(inbound: Inbound): Promise<void> {
    if (isPaired || inbound.type !== 'text' || inbound.actor.isAnonymous) return
    const { actor, chat, text } = inbound
    const isRight = plainCode(text) === plainCode(code)
    if (chat.kind !== 'private') {
      if (!isRight) return
      code = pairingCode()
      onError(new BridgeError('config', 'Someone wrote the code where others can read it, so it no longer counts.'))
      return onCode(code)
    }
    if (!rate.take(actor.id)) return
    if (isRight) {
      isPaired = true
      await inbound.answer('You are connected. Go back to the terminal.').catch(onError)
      // The platform is told first that the code was taken: else the bridge would hear it again, as a prompt.
      setImmediate(() => setPaired(actor))
      return
    }
    if (isLikeCode(text)) await inbound.answer('This is not the code. Check the terminal.').catch(onError)
  }
}

function plainCode(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}

function isLikeCode(text: string): boolean {
  return /^[A-Z\d]{8}$/.test(plainCode(text))
}
