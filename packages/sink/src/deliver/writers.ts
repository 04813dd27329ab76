import type { Clock } from '@reply/core'

/** The replies that write growing text now, and share a budget. */
export interface Writers {
  /** The reply's text waits to be written. */
  begin(owner: object): void
  /** Nothing of it waits. It still counts for a moment, as text comes in pieces. */
  pause(owner: object): void
  /** How many write, with the owner. */
  count(owner: object): number
}

/** Text that pauses for longer counts as over, in ms. */
const pauseMs = 3000

export function createWriters(clock: Clock): Writers {
  const waiting = new Set<object>()
  /** Since when each has been paused; the one that has for longest first. */
  const paused = new Map<object, number>()
  return { begin, pause, count }

  function begin(owner: object): void {
    paused.delete(owner)
    waiting.add(owner)
  }

  function pause(owner: object): void {
    if (waiting.delete(owner)) paused.set(owner, clock.now())
  }

  function count(owner: object): number {
    const now = clock.now()
    for (const [one, since] of paused) {
      if (since + pauseMs > now) break
      paused.delete(one)
    }
    return waiting.size + paused.size + (waiting.has(owner) || paused.has(owner) ? 0 : 1)
  }
}
