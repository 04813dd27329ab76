import { type Clock, systemClock } from '@reply/core'

/** The system clock, but its timers don't keep the process alive: a display must not prevent the exit. */
export const idleClock: Clock = {
  now: systemClock.now,
  monotonic: systemClock.monotonic,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
