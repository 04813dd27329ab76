/** Time as a parameter. `createHandClock` is one, and so is the core's `systemClock`. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds that never go back, for durations. */
  monotonic?(): number
  /** Runs once, later. What it returns stops it. */
  after(delayMs: number, run: () => void): () => void
}

export const realClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}
