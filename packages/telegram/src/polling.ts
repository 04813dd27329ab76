import type { Clock } from '@reply/core'
import { pause } from '@reply/core/internal'
import { callPlatform, PortError } from '@reply/sink/channel'
import { createOpenTasks, type InboundMonitor } from '@reply/sink/internal'
import type { TelegramFields, TelegramInboundApi } from './api.ts'
import { rejectedTokenError, responseOf, TelegramError, toPortError, unreadableUpdateError } from './error.ts'
import { updateIdOf, updateTypes } from './inbound.ts'
import type { Receiver } from './receive.ts'

interface PollingOptions {
  readonly api: TelegramInboundApi
  readonly receiver: Pick<Receiver, 'read' | 'receive'>
  readonly onError: (error: TelegramError) => void
  readonly monitor: InboundMonitor
  readonly clock: Clock
}

export interface Polling {
  /** Begins to poll. Does nothing if it has begun. */
  start(): void
  /** Ends the current poll. Resolves when the last update is handled and confirmed. */
  stop(): Promise<void>
}

/** Long-poll timeout, in seconds. After it, Telegram answers even without updates. */
const pollS = 30

/** How many 404s in a row mean a wrong token. A restarting gateway also answers 404, for up to two minutes. */
const mostMisses = 8

/** The deadline of a poll, in ms. A connection can die silently, and grammY itself waits for 500 s. */
const pollDeadlineMs = (pollS + 15) * 1000

/** The deadline of the poll at a stop, in ms. What it does not confirm comes again. */
const confirmMs = 5000

/** How long to wait after another process ended a poll, in ms. The other one is a predecessor that is about to stop. */
const conflictPauseMs = 1000

/** How long a conflict can be a handover, in ms: a long poll of the predecessor, and as much again for it to stop. */
const handoverMs = 2 * pollS * 1000

/** How long polls must last without a conflict until the other process is gone, in ms: nearly a long poll of its own. */
const quietMs = (pollS - 5) * 1000

/** How often to poll for newer updates while one is being handled, in ms. */
const busyPollMs = 500

/**
 * Fetches updates in batches. Starts them in order and handles them concurrently. Each poll confirms the updates before
 * the oldest one that is still being handled. Telegram resends the others, and does not wait for new ones then.
 */
export function createPolling({ api, receiver, onError, monitor, clock }: PollingOptions): Polling {
  /** The updates that are not confirmed yet, by id. Telegram resends those that the host did not take. */
  const open = new Map<number, 'handling' | 'handled' | 'not-taken'>()
  const tasks = createOpenTasks()
  let abort: AbortController | undefined
  let ended = Promise.resolve()
  return {
    start: () => {
      if (abort) return
      abort = new AbortController()
      monitor.started()
      ended = pollUntilAborted(abort.signal)
    },
    stop: async () => {
      abort?.abort()
      await ended
      abort = undefined
    },
  }

  /**
   * Polls until the signal aborts, reporting and retrying failures. At the end, waits for the updates in work and confirms
   * them.
   */
  async function pollUntilAborted(signal: AbortSignal): Promise<void> {
    let offset: number | undefined
    let hasFailed = false
    let notFoundCount = 0
    /** The time of the first conflict, and of the first poll after the last one. */
    let conflict: { readonly since: number; readonly quietSince: number } | undefined
    while (!signal.aborted) {
      try {
        const isBusy = [...open.values()].some((state) => state !== 'handled')
        // After a failure, a poll without waiting shows at once whether Telegram is reachable again.
        const timeout = isBusy || hasFailed ? 0 : pollS
        const batch = await fetchUpdates({ offset, timeout, allowed_updates: updateTypes }, { signal })
        hasFailed = false
        notFoundCount = 0
        if (conflict && clock.now() - conflict.quietSince >= quietMs) conflict = undefined
        if (!conflict) monitor.succeeded()
        for (const id of open.keys()) if (id < (offset ?? 0)) open.delete(id)
        for (const update of batch) startHandling(update)
        await waitForTasks(busyPollMs, signal)
        if ([...open.values()].includes('not-taken')) await pause(clock, busyPollMs, signal)
        offset = nextOffset() ?? offset
      } catch (error) {
        if (signal.aborted) break
        const code = responseIn(error)?.code
        notFoundCount = code === 404 ? notFoundCount + 1 : 0
        if (isPollConflict(error)) {
          const since = conflict?.since ?? clock.now()
          await pause(clock, waitAfterConflict(error, since), signal)
          conflict = { since, quietSince: clock.now() }
          continue
        }
        hasFailed = true
        // A person has to fix a wrong token. Telegram may also refuse a right one for a while.
        const isRefused = code !== undefined && (code === 401 || notFoundCount >= mostMisses)
        const reason = isRefused
          ? rejectedTokenError(code, toPortError(error, 'getUpdates').cause)
          : pollingError(error)
        onError(reason)
        const waitMs = isRefused ? monitor.refused(reason) : monitor.failed(reason)
        await pause(clock, toPortError(error, 'getUpdates').retryAfterMs ?? waitMs, signal)
      }
    }
    await tasks.settled()
    offset = nextOffset()
    open.clear()
    if (offset !== undefined) await confirm(offset)
  }

  /**
   * Returns how long to wait after a conflict, in ms. Reports one that lasts longer than a handover. The wait is then up to a
   * minute, so that two processes that both go on don't end each other's polls all the time.
   */
  function waitAfterConflict(error: unknown, since: number): number {
    const reason = pollingError(error)
    const waitMs = monitor.failed(reason)
    if (clock.now() - since < handoverMs) return conflictPauseMs
    onError(reason)
    return waitMs
  }

  /**
   * Waits for the updates in work, so that the next poll confirms them: at most `longestMs`, and until the signal aborts.
   * Doesn't use `AbortSignal.any`: in Node 20, a signal keeps an entry for each signal that was derived from it, and this one
   * lives for months.
   */
  async function waitForTasks(longestMs: number, signal: AbortSignal): Promise<void> {
    const waited = new AbortController()
    const end = (): void => waited.abort()
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    await Promise.race([tasks.settled(), pause(clock, longestMs, waited.signal)])
    signal.removeEventListener('abort', end)
    end()
  }

  /** Makes one poll, and resolves with its updates. Rejects with a `PortError`. */
  async function fetchUpdates(
    fields: TelegramFields,
    { signal, timeoutMs = pollDeadlineMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<readonly unknown[]> {
    const call = { what: 'getUpdates', timeoutMs, signal, clock, toPortError }
    return await callPlatform((aborted) => api.getUpdates(fields, aborted), call)
  }

  /**
   * Passes an update on in the background. Skips one that is in work or handled, unless it was not taken. Reports an
   * unreadable one, which counts as handled if it has an id.
   */
  function startHandling(rawUpdate: unknown): void {
    const id = updateIdOf(rawUpdate)
    if (id !== undefined && open.has(id) && open.get(id) !== 'not-taken') return
    const update = receiver.read(rawUpdate)
    if (!update) onError(unreadableUpdateError(id))
    if (id === undefined) return
    open.set(id, update ? 'handling' : 'handled')
    if (update)
      void tasks.add(receiver.receive(update).then((isTaken) => void open.set(id, isTaken ? 'handled' : 'not-taken')))
  }

  /** Returns the id of the oldest unhandled update, or else the one after the newest. Undefined without updates. */
  function nextOffset(): number | undefined {
    const left = [...open].flatMap(([id, state]) => (state === 'handled' ? [] : [id]))
    if (left.length > 0) return Math.min(...left)
    return open.size > 0 ? Math.max(...open.keys()) + 1 : undefined
  }

  /** Confirms the last updates, which would otherwise arrive again after a restart. A failure is reported. */
  async function confirm(offset: number): Promise<void> {
    try {
      await fetchUpdates({ offset, timeout: 0, limit: 1 }, { timeoutMs: confirmMs })
    } catch (error) {
      onError(pollingError(error))
    }
  }
}

/**
 * Returns the response in a failed call. Undefined without one. Network errors are not kept as the cause: their URL contains
 * the token.
 */
function responseIn(error: unknown): ReturnType<typeof responseOf> {
  return error instanceof PortError ? responseOf(error.cause) : undefined
}

/** Whether a poll of another process ended this one. */
function isPollConflict(error: unknown): boolean {
  const { code, description } = responseIn(error) ?? { code: undefined, description: '' }
  return code === 409 && !/webhook/i.test(description)
}

/**
 * Returns the error of a failed poll: `conflict` if another process or a webhook takes the updates, and `updates` for any
 * other failure.
 */
function pollingError(error: unknown): TelegramError {
  const code = responseIn(error)?.code
  const failure = toPortError(error, 'getUpdates')
  const cause = { cause: failure.cause }
  if (code === 409 && !isPollConflict(error)) {
    const cure = 'Remove it with deleteWebhook, or use `updates: "webhook"`.'
    return new TelegramError('conflict', `The bot has a webhook, so it can't be polled. ${cure}`, cause)
  }
  if (code === 409) {
    const cure = 'Stop the other process, or give it its own bot.'
    return new TelegramError('conflict', `Another process polls the same bot. ${cure}`, cause)
  }
  return new TelegramError('updates', failure.message, cause)
}
