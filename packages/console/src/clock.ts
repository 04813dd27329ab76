import type { Clock } from '@reply/core'

/** The computer's clock. Its timers keep no process alive: what is shown waits for others. */
export const idleClock: Clock = {
  now: () => Date.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
