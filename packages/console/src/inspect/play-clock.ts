import type { Clock } from '@reply/core'

/** A clock that stands still until it is told the time. */
export interface PlayClock extends Clock {
  /** Lets the time pass up to `at`, in ms since the epoch. Runs the timers that are due, each at its own time. */
  advanceTo(at: number): Promise<void>
  /** When the next timer is due, in ms since the epoch. Undefined if none is set. */
  next(): number | undefined
}

/** Creates a clock that stands at `start`, in ms since the epoch. */
export function createPlayClock(start: number): PlayClock {
  let now = start
  const timers = new Set<{ readonly at: number; readonly run: () => void }>()
  return {
    now: () => now,
    after: (delayMs, run) => {
      const timer = { at: now + delayMs, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advanceTo,
    next: () => earliest()?.at,
  }

  async function advanceTo(at: number): Promise<void> {
    await untilIdle()
    for (let timer = earliest(); timer && timer.at <= at; timer = earliest()) {
      timers.delete(timer)
      now = Math.max(now, timer.at)
      timer.run()
      await untilIdle()
    }
    now = Math.max(now, at)
  }

  function earliest(): { readonly at: number; readonly run: () => void } | undefined {
    let first: { readonly at: number; readonly run: () => void } | undefined
    for (const timer of timers) if (!first || timer.at < first.at) first = timer
    return first
  }
}

/** Resolves once no promise is left that waits for nothing else. */
function untilIdle(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
