import type { ReplyObserver } from '@reply/core'

interface Counter {
  readonly observer: ReplyObserver
  /** Counts the UTF-16 units of text deltas, and the settled replies. */
  readonly count: { units: number; settled: number }
}

/**
 * Returns the observer of all measurements, and its counts, 0 at first. It listens to text and settling, and does next
 * to nothing with them.
 */
export function createCounter(): Counter {
  const count = { units: 0, settled: 0 }
  const observer: ReplyObserver = {
    partChanged: ({ delta }) => {
      count.units += delta?.length ?? 0
    },
    partAdded: ({ index }) => {
      if (index < 0) count.units = Number.NaN
    },
    replySettled: () => {
      count.settled += 1
    },
  }
  return { observer, count }
}
