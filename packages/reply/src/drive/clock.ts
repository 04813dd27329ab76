/** Time as a parameter: tests give one that they move by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls once after `delayMs`; never, when that is more than 24 days. Returns the stop; stopping after the call does nothing. */
  after(delayMs: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, run) => {
    // Node's timers take 24.8 days at most, and call at once for more.
    if (delayMs > 2 ** 31 - 1) return () => {}
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

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
