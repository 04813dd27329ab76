import type { Clock } from '@reply/core'
import { backOffMs } from '../port/back-off.ts'

/** Whether a channel receives what people write. */
export type InboundStatus =
  /** It is connected, or waits for webhook requests. */
  | { readonly status: 'receiving' }
  /** The platform refuses the channel, or has not been reachable for a minute. The channel keeps retrying. */
  | {
      readonly status: 'disconnected'
      /** When the first try failed, in ms since the epoch. */
      readonly since: number
      /** The failure and how to fix it, in a sentence. Contains no secret. */
      readonly reason: string
    }

/** Keeps track of a channel's connection, and of how long to wait before the next try. */
export interface InboundMonitor {
  /** Call it when the channel starts. Forgets earlier attempts, so that the next status is reported. */
  started(): void
  /** Call it when the platform responds, for example to a poll or with the first frame of a socket. Reports `receiving`. */
  succeeded(): void
  /**
   * Call it when an attempt fails or a connection ends. Returns how long to wait before the next attempt, in ms. Reports
   * `disconnected` once attempts have failed for a minute.
   */
  failed(error: Error): number
  /**
   * Call it when the platform refuses the channel, so that a person has to act. Returns how long to wait before the next
   * attempt, in ms. Reports `disconnected` at once.
   */
  refused(error: Error): number
}

/** How long an interruption lasts before it is reported, in ms. */
const reportAfterMs = 60_000

/**
 * The wait after a refusal: 5 s, doubled each time, at most five minutes. Frequent calls with a bad token can lead to a
 * ban.
 */
const refusedMs = 5000
const mostRefusedMs = 300_000

/**
 * Creates the monitor of a channel's connection to its platform. Its functions return how long to wait before the next attempt,
 * and report each change of the status and each new reason. An error that `onInboundStatus` throws goes to `onError`.
 */
export function createInboundMonitor(options: {
  readonly onInboundStatus?: ((status: InboundStatus) => void) | undefined
  readonly onError: (error: Error) => void
  readonly clock: Clock
}): InboundMonitor {
  const { onInboundStatus, onError, clock } = options
  /** When the first of the failed attempts was made. */
  let failingSince: number | undefined
  let receivingSince: number | undefined
  let failures = 0
  let refusals = 0
  /** The last reported reason. Empty while receiving, undefined before the first report. */
  let reported: string | undefined
  return { started, succeeded, failed, refused }

  /** Forgets all earlier attempts, and what was reported of them. */
  function started(): void {
    failures = 0
    refusals = 0
    failingSince = undefined
    receivingSince = undefined
    reported = undefined
  }

  /**
   * Resets the failures, and reports that the channel receives. Refusals only count anew once it has received for a
   * minute.
   */
  function succeeded(): void {
    failures = 0
    failingSince = undefined
    receivingSince ??= clock.now()
    reportIfNew('', { status: 'receiving' })
  }

  /** Reports the failure once attempts have failed for `reportAfterMs`. Returns the wait before the next attempt, in ms. */
  function failed(error: Error): number {
    failingSince ??= clock.now()
    receivingSince = undefined
    if (clock.now() - failingSince >= reportAfterMs) reportFailure(error, failingSince)
    failures += 1
    return backOffMs(failures - 1)
  }

  /** Reports the refusal at once. Returns the wait before the next attempt, in ms, which is longer than after a failure. */
  function refused(error: Error): number {
    failingSince ??= clock.now()
    // Two processes with one login replace each other: each is connected for a moment only.
    if (receivingSince !== undefined && clock.now() - receivingSince >= reportAfterMs) refusals = 0
    receivingSince = undefined
    reportFailure(error, failingSince)
    refusals += 1
    return Math.min(mostRefusedMs, refusedMs * 2 ** (refusals - 1))
  }

  /** Reports that the channel is disconnected since that time, unless the last report had the same reason. */
  function reportFailure({ message }: Error, since: number): void {
    reportIfNew(message, { status: 'disconnected', since, reason: message })
  }

  /** Reports the status unless the last report had the same reason. An empty reason means that the channel receives. */
  function reportIfNew(reason: string, status: InboundStatus): void {
    if (reason === reported) return
    reported = reason
    try {
      onInboundStatus?.(status)
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
