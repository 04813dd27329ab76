import { randomInt } from 'node:crypto'
import { type Clock, systemClock } from '@reply/core'
import { type Actor, type Inbound, memoryStore } from '@reply/sink'
import type { BridgeChannel, BridgeConnection, SecretSource } from '@reply/sink/channel'

/** Without letters and digits that look alike. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/** A code that can't be guessed: eight letters and digits, in two groups. */
export function pairingCode(): string {
  const group = (): string => Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join('')
  return `${group()}-${group()}`
}

/** What pairing needs. */
export interface PairingOptions<Config> {
  readonly channel: BridgeChannel<Config>
  readonly config: Config
  readonly code: string
  readonly secret: (source: SecretSource) => string
  /** Gets failures that it goes on after. */
  readonly onError: (error: Error) => void
  readonly signal: AbortSignal
  readonly clock?: Clock | undefined
}

/**
 * Hears a channel until a person writes the code to the bot, in a private chat, and resolves with that person. Everybody
 * else gets no answer. Undefined for a channel that hears by requests, which no one sends yet, and once aborted.
 */
export async function pair<Config>(options: PairingOptions<Config>): Promise<Actor | undefined> {
  const { channel, config, code, secret, onError, signal, clock = systemClock } = options
  let setPaired = (_: Actor | undefined): void => {}
  const paired = new Promise<Actor | undefined>((resolve) => {
    setPaired = resolve
  })
  signal.addEventListener('abort', () => setPaired(undefined), { once: true })
  if (signal.aborted) return undefined
  const connection: BridgeConnection = await channel.create(config, {
    ...{ name: channel.type, secret, onError, clock, store: memoryStore(), onInbound },
  })
  if (connection.webhook) return undefined
  await connection.start()
  try {
    return await paired
  } finally {
    await connection.stop()
  }

  async function onInbound(inbound: Inbound): Promise<void> {
    if (inbound.type !== 'text' || inbound.chat.kind !== 'private' || inbound.actor.isAnonymous) return
    if (plainCode(inbound.text) !== plainCode(code)) return
    await inbound.answer('You are known now. Go back to the terminal.').catch(onError)
    setPaired(inbound.actor)
  }
}

function plainCode(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}
