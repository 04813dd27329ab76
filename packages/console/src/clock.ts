import { type Clock, systemClock } from '@reply/core'

/** The computer's clock. Its timers keep no process alive: what is shown waits for others. */
export const idleClock: Clock = {
  now: systemClock.now,
  monotonic: systemClock.monotonic,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
