import type { Clock } from '@reply/core'
import { backOffMs, callPlatform, PortError, pause } from '@reply/sink/channel'
import type { TelegramFields, TelegramInboundApi } from './api.ts'
import { TelegramError, unreadableUpdate } from './error.ts'
import { type ErrorResponse, responseOf, toPortError } from './failure.ts'
import { updateIdOf, updateTypes } from './inbound.ts'
import type { Receiver } from './receive.ts'

export interface PollOptions {
  readonly api: TelegramInboundApi
  readonly read: Receiver['read']
  readonly receive: Receiver['receive']
  readonly onError: (error: TelegramError) => void
  readonly clock: Clock
}

export interface Polling {
  start(): void
  /** Resolves when the last update is handled and confirmed. */
  stop(): Promise<void>
}

/** Long-poll timeout in seconds: Telegram answers after it even without updates. */
const pollS = 30

/** A gateway that restarts answers 404 as well, so only that many in a row end the polling: two minutes. */
const mostMisses = 8

/** The deadline of a poll: a connection can die silently, and grammY itself waits for 500 s. */
const lateMs = (pollS + 15) * 1000

/**
 * Fetches updates in batches. Each batch is handled before the next fetch, which confirms it. Updates of one batch are
 * handled concurrently, begun in their order.
 */
export function createPolling({ api, read, receive, onError, clock }: PollOptions): Polling {
  let abort: AbortController | undefined
  let ended = Promise.resolve()
  return {
    start: () => {
      if (abort) return
      abort = new AbortController()
      // A rejected token ends it too; it may be started again.
      ended = run(abort.signal).finally(() => {
        abort = undefined
      })
    },
    stop: async () => {
      abort?.abort()
      await ended
    },
  }

  async function run(signal: AbortSignal): Promise<void> {
    let offset: number | undefined
    let failures = 0
    let misses = 0
    let isConfirmed = true
    while (!signal.aborted) {
      try {
        const batch = await poll({ offset, timeout: pollS, allowed_updates: updateTypes }, signal)
        failures = 0
        misses = 0
        isConfirmed = batch.length === 0
        await Promise.all(batch.map(take))
        for (const update of batch) offset = Math.max(offset ?? 0, (updateIdOf(update) ?? -1) + 1)
      } catch (error) {
        if (signal.aborted) break
        const code = responseIn(error)?.code
        misses = code === 404 ? misses + 1 : 0
        // Retrying doesn't fix a wrong token.
        const isOver = code === 401 || misses === mostMisses
        onError(isOver ? rejected(code, error) : toError(error))
        if (isOver) return
        const { retryAfterMs } = toPortError(error, 'getUpdates')
        await pause(clock, retryAfterMs ?? backOffMs(failures), signal)
        failures += 1
      }
    }
    if (!isConfirmed && offset !== undefined) await confirm(offset)
  }

  async function poll(fields: TelegramFields, signal?: AbortSignal): Promise<readonly unknown[]> {
    const call = { what: 'getUpdates', timeoutMs: lateMs, signal, clock, toPortError }
    return await callPlatform((aborted) => api.getUpdates(fields, aborted), call)
  }

  async function take(value: unknown): Promise<void> {
    const update = read(value)
    if (update) return await receive(update)
    onError(unreadableUpdate(updateIdOf(value)))
  }

  /** Unconfirmed updates would come again after a restart. */
  async function confirm(offset: number): Promise<void> {
    try {
      await poll({ offset, timeout: 0, limit: 1 })
    } catch (error) {
      onError(toError(error))
    }
  }
}

/** Telegram answers 401 to a wrong token, and 404 to one that isn't even formed like a token. */
function rejected(code: number, error: unknown): TelegramError {
  const words = `Telegram rejected the bot's token (${code}). Use the one that @BotFather shows now.`
  return new TelegramError('unauthorized', words, { cause: toPortError(error, 'getUpdates').cause })
}

/** The response in a failed call. Network errors are not kept as the cause: their URL contains the token. */
function responseIn(error: unknown): ErrorResponse | undefined {
  return error instanceof PortError ? responseOf(error.cause) : undefined
}

function toError(error: unknown): TelegramError {
  const { code, description } = responseIn(error) ?? { code: undefined, description: '' }
  const failure = toPortError(error, 'getUpdates')
  const cause = { cause: failure.cause }
  if (code === 409 && /webhook/i.test(description)) {
    const cure = 'Remove it with deleteWebhook, or use `updates: "webhook"`.'
    return new TelegramError('conflict', `The bot has a webhook, so it can't be polled. ${cure}`, cause)
  }
  if (code === 409) {
    const cure = 'Stop the other process, or give it its own bot.'
    return new TelegramError('conflict', `Another process polls the same bot. ${cure}`, cause)
  }
  return new TelegramError('updates', failure.message, cause)
}
