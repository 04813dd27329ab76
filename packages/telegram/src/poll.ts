import type { Clock } from '@reply/core'
import type { TelegramFields, TelegramInboundApi } from './api.ts'
import { TelegramError } from './error.ts'
import { networkCodeOf, refusalOf } from './failure.ts'
import { toUpdate, updateIdOf, updateTypes } from './inbound.ts'
import type { ReceiveUpdate } from './receive.ts'

export interface PollOptions {
  readonly api: TelegramInboundApi
  readonly receive: ReceiveUpdate
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

/** Aborts a poll without an answer: a connection can die silently, and grammY waits for 500 s. */
const lateMs = (pollS + 15) * 1000

const backOff = { minMs: 1000, maxMs: 60_000 }

/**
 * Fetches updates in batches. Each batch is handled before the next fetch, which confirms it. Updates of one batch are
 * handled concurrently, begun in their order.
 */
export function createPolling({ api, receive, onError, clock }: PollOptions): Polling {
  let abort: AbortController | undefined
  let ended = Promise.resolve()
  return {
    start: () => {
      if (abort) return
      abort = new AbortController()
      ended = run(abort.signal)
    },
    stop: async () => {
      abort?.abort()
      await ended
      abort = undefined
    },
  }

  async function run(signal: AbortSignal): Promise<void> {
    let offset: number | undefined
    let failures = 0
    let isConfirmed = true
    while (!signal.aborted) {
      try {
        const batch = await poll({ offset, timeout: pollS, allowed_updates: updateTypes }, signal)
        failures = 0
        isConfirmed = batch.length === 0
        await Promise.all(batch.map(take))
        for (const update of batch) offset = Math.max(offset ?? 0, (updateIdOf(update) ?? -1) + 1)
      } catch (error) {
        if (signal.aborted) break
        onError(toError(error))
        // Retrying doesn't fix a wrong token.
        if (refusalOf(error)?.code === 401) return
        await pause(waitMs(error, failures), signal)
        failures += 1
      }
    }
    if (!isConfirmed && offset !== undefined) await confirm(offset)
  }

  async function poll(fields: TelegramFields, signal?: AbortSignal): Promise<readonly unknown[]> {
    const abort = new AbortController()
    const end = (): void => abort.abort()
    const stop = clock.after(lateMs, end)
    signal?.addEventListener('abort', end)
    try {
      return await api.getUpdates(fields, abort.signal)
    } finally {
      stop()
      signal?.removeEventListener('abort', end)
    }
  }

  async function take(value: unknown): Promise<void> {
    const update = toUpdate(value)
    if (update) return await receive(update)
    const id = updateIdOf(value) ?? 'without an id'
    onError(new TelegramError('malformed', `Skipped update ${id}, which can't be read.`))
  }

  /** Unconfirmed updates would come again after a restart. */
  async function confirm(offset: number): Promise<void> {
    try {
      await poll({ offset, timeout: 0, limit: 1 })
    } catch (error) {
      onError(toError(error))
    }
  }

  function pause(forMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stop()
        signal.removeEventListener('abort', done)
        resolve()
      }
      const stop = clock.after(forMs, done)
      signal.addEventListener('abort', done)
    })
  }
}

function waitMs(error: unknown, failures: number): number {
  const retryAfterS = refusalOf(error)?.retryAfterS
  if (retryAfterS !== undefined) return retryAfterS * 1000
  return Math.min(backOff.maxMs, backOff.minMs * 2 ** failures)
}

/** Drops network errors as the cause: their URL contains the token. */
function toError(error: unknown): TelegramError {
  const refusal = refusalOf(error)
  if (!refusal) {
    const code = networkCodeOf(error)
    return new TelegramError('updates', `Telegram did not respond to getUpdates${code ? ` (${code})` : ''}.`)
  }
  const { code, description } = refusal
  const cause = { cause: error }
  if (code === 409 && /webhook/i.test(description)) {
    const cure = 'Remove it with deleteWebhook, or use `updates: "webhook"`.'
    return new TelegramError('conflict', `The bot has a webhook, so it can't be polled. ${cure}`, cause)
  }
  if (code === 409) {
    const cure = 'Stop the other process, or give it its own bot.'
    return new TelegramError('conflict', `Another process polls the same bot. ${cure}`, cause)
  }
  if (code === 401 || code === 404) {
    const words = `Telegram rejected the bot's token (${code}). Use the one that @BotFather shows now.`
    return new TelegramError('unauthorized', words, cause)
  }
  return new TelegramError('updates', `getUpdates failed: ${code} ${description}`, cause)
}
