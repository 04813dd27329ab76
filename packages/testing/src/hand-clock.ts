/** A clock that only moves when you advance it. Fits every `clock` option of our packages. */
export interface HandClock {
  /** Ms since the epoch, including steps of the wall clock. */
  now(): number
  /** Ms since the epoch, without the steps. Never goes back. */
  monotonic(): number
  /**
   * Sets the wall clock forward, or back with a negative number. No time passes: timers and `monotonic` don't notice.
   */
  step(byMs: number): void
  /** Calls `run` when `advance` reaches that time. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void
  /**
   * Lets time pass: runs due timers in order, also those that they set. Awaits `untilIdle` before the first and after
   * each, so that the program can settle. Rejects with the error of a timer that throws, and leaves the time there.
   */
  advance(durationMs: number, untilIdle?: () => Promise<void>): Promise<void>
  /** How many timers are set. */
  readonly pending: number
}

interface Timer {
  readonly at: number
  readonly run: () => void
}

/** Creates a clock that starts at a fixed time, by default 2026-01-01, so that runs are repeatable. */
export function createHandClock(startMs = Date.UTC(2026, 0, 1)): HandClock {
  let time = startMs
  let offsetMs = 0
  const timers = new Set<Timer>()
  return {
    now: () => time + offsetMs,
    monotonic: () => time,
    step: (byMs) => {
      offsetMs += byMs
    },
    after,
    advance,
    get pending() {
      return timers.size
    },
  }

  /** Sets a timer that runs when `advance` reaches its time. Returns a function that cancels it. */
  function after(delayMs: number, run: () => void): () => void {
    const timer = { at: time + delayMs, run }
    timers.add(timer)
    return () => timers.delete(timer)
  }

  /**
   * Lets time pass: runs due timers in order, also those that they set, each at its own time. Awaits `untilIdle` before
   * the first and after each. Rejects, and stops there, if a timer throws.
   */
  async function advance(durationMs: number, untilIdle?: () => Promise<void>): Promise<void> {
    const end = time + durationMs
    await untilIdle?.()
    for (let next = earliestUntil(end); next; next = earliestUntil(end)) {
      timers.delete(next)
      time = Math.max(time, next.at)
      next.run()
      await untilIdle?.()
    }
    time = end
  }

  /** Returns the timer that is due first, and was set first if several are. Undefined if none is due by `end`. */
  function earliestUntil(end: number): Timer | undefined {
    let found: Timer | undefined
    for (const timer of timers) if (timer.at <= end && (!found || timer.at < found.at)) found = timer
    return found
  }
}
