import type { ReplyObserver } from '@reply/core'

export interface Counter {
  readonly observer: ReplyObserver
  /** How many UTF-16 units of text came as deltas, and how many replies settled. */
  readonly count: { units: number; settled: number }
}

/** The one observer of the measurements: it listens to the text and the end, and does next to nothing with them. */
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
