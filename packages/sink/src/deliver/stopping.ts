import type { Clock } from '@reply/core'

/** How long a stop waits for the call under way, in ms: its response tells what is in the chat. */
export const stopGraceMs = 5000

/** The end of a delivery in two steps: nothing new begins, then the call under way is aborted. */
export interface Stopping {
  /** Aborts at once: nothing waits for its turn any more. */
  readonly stopped: AbortSignal
  /** Aborts calls that are not over `stopGraceMs` later. */
  readonly signal: AbortSignal
  /** Resolves with `ended`, which is the end of the call under way. */
  stop(ended: Promise<void>): Promise<void>
}

export function createStopping(clock: Clock): Stopping {
  const stopped = new AbortController()
  const late = new AbortController()
  return { stopped: stopped.signal, signal: late.signal, stop }

  async function stop(ended: Promise<void>): Promise<void> {
    stopped.abort()
    const stopTimer = clock.after(stopGraceMs, () => late.abort())
    await ended
    stopTimer()
  }
}
