/** Time as a parameter. Both `createHandClock` and the core's `systemClock` implement it. */
export interface TestClock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds that never go back, for durations. */
  monotonic?(): number
  /** Runs once, later. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void
}

/** The computer's clock, for fakes without one. Its timers keep the process alive. */
export const realClock: TestClock = {
  now: () => Date.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}
