import type { TestClock } from '../clock.ts'

/** Timers of one fake, which end together. */
export interface Timers {
  /** Runs once, later. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void
  /** Resolves after this time. Never resolves if the fake closes before. */
  wait(delayMs: number): Promise<void>
  /** Cancels all. */
  close(): void
}

/** Returns the timers of one fake on this clock. `close` cancels them all, so that a closed fake does nothing more. */
export function createTimers(clock: TestClock): Timers {
  const stops = new Set<() => void>()
  return {
    after,
    wait: (delayMs) => new Promise((resolve) => void after(delayMs, resolve)),
    close: () => {
      for (const stop of stops) stop()
      stops.clear()
    },
  }

  /** Runs once, later, unless it is cancelled or the fake closes. Returns a function that cancels it. */
  function after(delayMs: number, run: () => void): () => void {
    const cancel = clock.after(delayMs, () => {
      stops.delete(stop)
      run()
    })
    const stop = (): void => {
      stops.delete(stop)
      cancel()
    }
    stops.add(stop)
    return stop
  }
}
