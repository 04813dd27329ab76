import type { Clock } from '@reply/core'
import { backOffMs } from '../times.ts'

/** Whether a channel receives what people write. */
export type InboundStatus =
  /** It receives what people write, or waits for the platform's requests. */
  | { readonly status: 'receiving' }
  /** It receives nothing: the platform refuses it, or can't be reached for a minute. It keeps trying. */
  | {
      readonly status: 'disconnected'
      /** When the first try failed, in ms since the epoch. */
      readonly since: number
      /** The failure and how to fix it, in a sentence. Contains no secret. */
      readonly reason: string
    }

/** Keeps track of a channel's connection, and of how long to wait before the next try. */
export interface InboundMonitor {
  /** Call it when the platform answered, for example a poll or the first frame of its socket. */
  succeeded(): void
  /** Call it when a try failed or a connection ended. Returns how long to wait before the next try, in ms. */
  failed(error: Error): number
  /**
   * Call it when the platform refused the channel, so that a person has to act. Returns how long to wait before the next
   * try, in ms.
   */
  refused(error: Error): number
}

/** Failures shorter than this are ordinary interruptions and are not reported, in ms. */
const reportAfterMs = 60_000
/** The waits after a refusal: 5 s, doubled each time, at most five minutes. A token may be back, and calls can lead to a ban. */
const refusedMs = 5000
const mostRefusedMs = 300_000

/** Reports each change of the status, and each new reason. An error that `onInboundStatus` throws goes to `onError`. */
export function createInboundMonitor(options: {
  readonly onInboundStatus?: ((status: InboundStatus) => void) | undefined
  readonly onError: (error: Error) => void
  readonly clock: Clock
}): InboundMonitor {
  const { onInboundStatus, onError, clock } = options
  /** Since when tries fail. */
  let since: number | undefined
  let receivingSince: number | undefined
  let failures = 0
  let refusals = 0
  /** The reason that was reported last. Empty while it receives, undefined before the first report. */
  let reported: string | undefined
  return { succeeded, failed, refused }

  function succeeded(): void {
    failures = 0
    since = undefined
    receivingSince ??= clock.now()
    report('', { status: 'receiving' })
  }

  function failed(error: Error): number {
    since ??= clock.now()
    receivingSince = undefined
    if (clock.now() - since >= reportAfterMs) reportFailure(error, since)
    failures += 1
    return backOffMs(failures - 1)
  }

  function refused(error: Error): number {
    since ??= clock.now()
    // Two processes with one login replace each other: each is connected for a moment only.
    if (receivingSince !== undefined && clock.now() - receivingSince >= reportAfterMs) refusals = 0
    receivingSince = undefined
    reportFailure(error, since)
    refusals += 1
    return Math.min(mostRefusedMs, refusedMs * 2 ** (refusals - 1))
  }

  function reportFailure({ message }: Error, at: number): void {
    report(message, { status: 'disconnected', since: at, reason: message })
  }

  function report(reason: string, status: InboundStatus): void {
    if (reason === reported) return
    reported = reason
    try {
      onInboundStatus?.(status)
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
