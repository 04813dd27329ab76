import type { Clock } from '@reply/core'
import { backOffMs, pause } from '@reply/sink/channel'
import type { Client } from 'discord.js'
import type { DiscordClient } from '../api.ts'
import { DiscordError } from '../error.ts'

export interface GatewayOptions {
  readonly token: string
  /** Makes a client, with its intents. */
  readonly connect: () => Client
  readonly onError: (error: DiscordError) => void
  readonly clock: Clock
}

export interface Gateway {
  /** Passes on the events of whichever client is logged in. */
  readonly client: DiscordClient
  /** Resolves once logged in. Rejects if Discord refuses the token or an intent; other failures are tried again. */
  start(): Promise<void>
  stop(): Promise<void>
}

type Listener = (packet: unknown) => void

/** A client of discord.js can't log in again once it is destroyed, so each start makes another. */
export function createGateway({ token, connect, onError, clock }: GatewayOptions): Gateway {
  const listeners = new Set<Listener>()
  let current: Client | undefined
  let abort = new AbortController()
  const client: DiscordClient = {
    get user() {
      return current?.user
    },
    on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
  }
  return { client, start, stop }

  async function start(): Promise<void> {
    abort = new AbortController()
    const { signal } = abort
    for (let failures = 0; !signal.aborted; failures++) {
      const made = connect()
      current = made
      made.on('raw', (packet: unknown) => {
        for (const listener of listeners) listener(packet)
      })
      // Without a listener, an error would end the process. The client connects again by itself.
      made.on('error', (error) => onError(toError(error)))
      try {
        await made.login(token)
        return
      } catch (reason) {
        await made.destroy()
        if (signal.aborted) return
        const error = toError(reason)
        if (error.type === 'unauthorized') throw error
        onError(error)
        await pause(clock, backOffMs(failures), signal)
      }
    }
  }

  async function stop(): Promise<void> {
    abort.abort()
    await current?.destroy()
    current = undefined
  }
}

/** discord.js has no type for these; the messages are its own. */
function toError(reason: unknown): DiscordError {
  const words = reason instanceof Error ? reason.message : String(reason)
  if (/disallowed intents/i.test(words)) {
    const cure = "Turn on the Message Content Intent on the page Bot of Discord's developer portal."
    return new DiscordError('unauthorized', `Discord refused the bot's intents. ${cure}`)
  }
  if (/invalid token/i.test(words)) return refusedToken()
  return new DiscordError('updates', `The gateway of Discord failed: ${words}`)
}

/** The error for a token that Discord refuses. */
export function refusedToken(): DiscordError {
  const cure = "Use the one that the page Bot of Discord's developer portal shows after a reset."
  return new DiscordError('unauthorized', `Discord rejected the bot's token. ${cure}`)
}
