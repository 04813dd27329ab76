import type { ChannelHost } from '@reply/sink/channel'
import type { InboundMonitor } from '@reply/sink/internal'
import type { Client, SimpleShardingStrategy } from 'discord.js'
import type { DiscordClient } from './api.ts'
import { DiscordError } from './error.ts'
import { isConnected } from './inbound.ts'

/** A bot's gateway, which reconnects until it is stopped. */
export interface Gateway {
  /** Stays the same across reconnects, and forwards the events of the client that is logged in. */
  readonly client: DiscordClient
  /**
   * Resolves after the first attempt. Rejects if Discord refuses the token or an intent in it. Later failures are
   * retried.
   */
  start(): Promise<void>
  /** Logs out. */
  stop(): Promise<void>
}

type Listener = (packet: unknown) => void

/**
 * How long a client may take to log in or to reconnect, in ms. discord.js reconnects on its own, but waits forever for
 * the answer to a resume, and gives up after codes such as 4004.
 */
const logInMs = 60_000

/**
 * Creates the gateway, which logs in and reconnects. `createClient` creates a client with its intents. It is called for each
 * attempt, because a destroyed discord.js client can't log in again.
 */
export function createGateway(
  createClient: () => Client,
  token: string,
  monitor: InboundMonitor,
  { onError, clock }: Pick<ChannelHost, 'onError' | 'clock'>,
): Gateway {
  const listeners = new Set<Listener>()
  let current: Client | undefined
  let stopTimer = (): void => {}
  let abandonLogIn = (): void => {}
  const client: DiscordClient = {
    get user() {
      return current?.user
    },
    on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
  }
  return { client, start, stop }

  /** Logs in. Stops and rejects if that is `unauthorized`. Resolves after any other failure, which is retried. */
  async function start(): Promise<void> {
    monitor.started()
    const error = await logIn(true)
    if (error?.type !== 'unauthorized') return
    await stop()
    throw error
  }

  /**
   * Logs a new client in. Resolves with undefined once it is connected or `stop` was called, and otherwise with the error. A
   * failure is retried, except a refused token if `isStarting`, with which `start` rejects.
   */
  async function logIn(isStarting: boolean): Promise<DiscordError | undefined> {
    const made = createClient()
    current = made
    let isUp = false
    let isFirstLogIn = isStarting
    let isOver = false
    let reason = noAnswerError()
    return await new Promise((resolve) => {
      abandonLogIn = () => {
        isOver = true
        resolve(undefined)
      }
      startTimeout()
      made.on('raw', (packet: unknown) => {
        if (isOver) return
        if (isConnected(packet)) finishLogIn()
        for (const listener of listeners) listener(packet)
      })
      // Without a listener, an error would end the process.
      made.on('error', (error) => onError(toError(error)))
      made.on('shardError', (error) => {
        reason = toError(error)
      })
      made.on('shardReconnecting', () => {
        if (!isUp || isOver) return
        isUp = false
        monitor.failed(reason)
        startTimeout()
      })
      // Emitted before the error with the reason.
      made.on('shardDisconnect', () => setImmediate(() => giveUp(reason)))
      made.login(token).catch((error: unknown) => giveUp(toError(error)))

      /** Stops the timeout. Resolves the first log-in, or ends a reconnect. */
      function finishLogIn(): void {
        isUp = true
        isFirstLogIn = false
        stopTimer()
        monitor.succeeded()
        resolve(undefined)
      }

      /** Gives the log-in up after `logInMs`. */
      function startTimeout(): void {
        stopTimer = clock.after(logInMs, () => giveUp(reason))
      }

      /**
       * Destroys the client and reconnects, unless the token was refused at the first log-in. Does nothing once it was
       * given up or abandoned.
       */
      function giveUp(error: DiscordError): void {
        if (isOver) return
        isOver = true
        stopTimer()
        made.destroy().catch(onError)
        if (!(isFirstLogIn && error.type === 'unauthorized')) reconnect(error)
        resolve(error)
      }
    })
  }

  /**
   * Reports the error, and logs in again after the monitor's back-off, also after a refusal: Discord may refuse a right
   * token for a while, and a person can fix a wrong one.
   */
  function reconnect(error: DiscordError): void {
    onError(error)
    const waitMs = error.type === 'unauthorized' ? monitor.refused(error) : monitor.failed(error)
    stopTimer = clock.after(waitMs, () => void logIn(false))
  }

  /** Destroys the client, and abandons a log-in. Reconnects no more. */
  async function stop(): Promise<void> {
    stopTimer()
    abandonLogIn()
    await current?.destroy()
    current = undefined
  }
}

/** Returns the error for a log-in or a reconnect that takes longer than `logInMs`. */
function noAnswerError(): DiscordError {
  return new DiscordError('updates', 'The gateway of Discord does not answer.')
}

/**
 * Returns an error of discord.js as a `DiscordError`: `unauthorized` or `updates`, by its message, because its errors have
 * no type.
 */
function toError(reason: unknown): DiscordError {
  const message = reason instanceof Error ? reason.message : String(reason)
  if (/disallowed intents|invalid intents/i.test(message)) {
    const cure = "Turn on the Message Content Intent on the page Bot of Discord's developer portal."
    return new DiscordError('unauthorized', `Discord refused the bot's intents. ${cure}`)
  }
  if (/invalid token|authentication failed/i.test(message)) return refusedTokenError()
  return new DiscordError('updates', `The gateway of Discord failed: ${message}`)
}

/** Returns the error for a token that Discord refuses. */
export function refusedTokenError(): DiscordError {
  const cure = "Use the one that the page Bot of Discord's developer portal shows after a reset."
  return new DiscordError('unauthorized', `Discord rejected the bot's token. ${cure}`)
}

/**
 * Makes a strategy report and skip frames that discord.js can't read, and returns it. discord.js reads each in a promise
 * that it doesn't await, so an event that lacks a required field would end the process.
 */
export function guardFrames(
  strategy: SimpleShardingStrategy,
  onError: (error: DiscordError) => void,
): SimpleShardingStrategy {
  const spawn = strategy.spawn.bind(strategy)
  strategy.spawn = async (ids) => {
    await spawn(ids)
    for (const shard of shardsOf(strategy)) guardShard(shard, onError)
  }
  return strategy
}

/** Returns the strategy's shards, which are private in the types of discord.js. Empty if there are none. */
function shardsOf(strategy: SimpleShardingStrategy): readonly object[] {
  const shards: unknown = Reflect.get(strategy, 'shards')
  return shards instanceof Map ? [...shards.values()] : []
}

/** Wraps the shard's `onMessage`, which its connection calls for each frame, so that an error is reported. */
function guardShard(shard: object, onError: (error: DiscordError) => void): void {
  const read: unknown = Reflect.get(shard, 'onMessage')
  if (typeof read !== 'function') return
  const guarded = async (...frame: readonly unknown[]): Promise<void> => {
    try {
      await Reflect.apply(read, shard, frame)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.name : 'no reason given'
      onError(new DiscordError('updates', `A frame of Discord's gateway can't be read and was skipped: ${reason}.`))
    }
  }
  Reflect.set(shard, 'onMessage', guarded)
}
