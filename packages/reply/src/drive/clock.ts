/** Time as a parameter: tests give one that they move by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds since any fixed moment, for durations: never goes back, and knows no steps of the wall clock. Default: `now`. */
  monotonic?(): number
  /** Calls once after `delayMs`; never, when that is more than 24 days. Returns the stop; stopping after the call does nothing. */
  after(delayMs: number, run: () => void): () => void
}

/** A clock whose `now` never goes back. */
export interface SteadyClock extends Clock {
  monotonic(): number
}

/**
 * The same clock, with times that never go back: when the wall clock is set back, `now` goes on from the latest time by
 * the monotonic one. What happened later has the later time, and no duration is negative. Steps forward are followed, as
 * after the computer slept.
 */
export function steadyClock(clock: Clock): SteadyClock {
  const monotonic = (): number => clock.monotonic?.() ?? clock.now()
  let aheadMs = Number.NEGATIVE_INFINITY
  let latest = Number.NEGATIVE_INFINITY
  return {
    now: () => {
      const [wall, since] = [clock.now(), monotonic()]
      aheadMs = Math.max(aheadMs, wall - since)
      latest = Math.max(latest, wall, Math.floor(since + aheadMs))
      return latest
    },
    monotonic: () => monotonic(),
    after: (delayMs, run) => clock.after(delayMs, run),
  }
}

/** The computer's. Its `now` never goes back, see `steadyClock`. */
export const systemClock: SteadyClock = steadyClock({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, run) => {
    // Node's timers take 24.8 days at most, and call at once for more.
    if (delayMs > 2 ** 31 - 1) return () => {}
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
})

/** What the promise comes to; undefined when it takes longer. */
export function within<T>(clock: Clock, limitMs: number, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(limitMs, () => resolve(undefined))
    promise.then(resolve, reject).finally(stop)
  })
}

/** Resolves after `delayMs`, or at once when the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = (): void => {
      stop()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const stop = clock.after(delayMs, done)
    signal.addEventListener('abort', done, { once: true })
  })
}
