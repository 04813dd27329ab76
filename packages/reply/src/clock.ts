/** Time as a parameter: tests pass a clock that they advance by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Milliseconds since any fixed moment, for durations: never goes back and is unaffected by changes of the wall clock.
   * Default: `now`.
   */
  monotonic?(): number
  /**
   * The computer's wall clock in ms since the epoch, which may go back. Compare it with times of servers and platforms.
   * Default: `now`.
   */
  wall?(): number
  /**
   * Calls `run` once after `delayMs`, or never if that is more than 24 days. Returns a function that cancels the call.
   * Canceling after the call does nothing.
   */
  after(delayMs: number, run: () => void): () => void
}

/** A clock whose `now` never goes back. */
export interface SteadyClock extends Clock {
  /** As in `Clock`, but always present. */
  monotonic(): number
  /** As in `Clock`, but always present. */
  wall(): number
}

/**
 * Wraps a clock so that its times never go back: if the wall clock is set back, `now` continues from the latest time by
 * the monotonic clock. Later events have later times, and no duration is negative. Steps forward are followed, such as
 * after the computer slept. A clock without `monotonic` or `wall` uses its `now` for them.
 */
export function steadyClock(clock: Clock): SteadyClock {
  const monotonic = (): number => clock.monotonic?.() ?? clock.now()
  let aheadMs = Number.NEGATIVE_INFINITY
  let latest = Number.NEGATIVE_INFINITY
  return {
    now: () => {
      const wall = clock.now()
      const elapsed = monotonic()
      aheadMs = Math.max(aheadMs, wall - elapsed)
      latest = Math.max(latest, wall, Math.floor(elapsed + aheadMs))
      return latest
    },
    monotonic: () => monotonic(),
    wall: () => wallTime(clock),
    after: (delayMs, run) => clock.after(delayMs, run),
  }
}

/** The computer's clock. Its `now` never goes back, see `steadyClock`. */
export const systemClock: SteadyClock = steadyClock({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, run) => {
    // Node's timers take at most 24.8 days, and fire at once for more.
    if (delayMs > 2 ** 31 - 1) return () => {}
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
})

/**
 * The wall clock's time in ms since the epoch, to compare with times of servers and platforms. The clock's `now` if it
 * has no wall clock.
 */
export function wallTime(clock: Clock): number {
  return clock.wall?.() ?? clock.now()
}

/**
 * Returns how many ms have passed since this call, by the clock that moved on more. While a computer sleeps, the monotonic clock may
 * stand still (CLOCK_MONOTONIC of https://man7.org/linux/man-pages/man2/clock_gettime.2.html), and the wall clock goes on. So a
 * wall clock that is set forward counts as sleep. One that is set back hides only sleep that is shorter than that.
 */
export function stopwatch(clock: Clock): () => number {
  const monotonic = (): number => clock.monotonic?.() ?? clock.now()
  const [startedAt, startedAtWall] = [monotonic(), wallTime(clock)]
  return () => Math.max(monotonic() - startedAt, wallTime(clock) - startedAtWall)
}

/**
 * Resolves or rejects with the promise, or resolves to undefined after `limitMs`. Doesn't stop what the promise stands
 * for.
 */
export function within<T>(clock: Clock, limitMs: number, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(limitMs, () => resolve(undefined))
    promise.then(resolve, reject).finally(stop)
  })
}

/** Resolves after `delayMs`, or at once when the signal aborts or has aborted. Never rejects. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = (): void => {
      stop()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const stop = clock.after(delayMs, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}
