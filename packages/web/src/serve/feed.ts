import { createFeed } from '@reply/core/internal'
import type { PageFeed } from './source.ts'

/** How long late events may change a run after it has ended, for example its title, in ms. End its feed after that. */
export const lateMs = 10_000

/** A feed that its owner updates and ends. */
export interface OpenPageFeed<State> extends PageFeed<State> {
  /** Passes a newer state on. */
  update(state: State): void
  /** Says that no other state follows. */
  end(): void
}

/** Creates a feed for pages, without a state. */
export function createPageFeed<State>(): OpenPageFeed<State> {
  const states = createFeed<State>()
  const ends = createFeed<true>()
  return {
    get newest() {
      return states.newest
    },
    get hasEnded() {
      return ends.newest === true
    },
    follow: (listener) => {
      const stops = [states.follow(listener), ends.follow(listener)]
      return () => {
        for (const stop of stops) stop()
      }
    },
    update: states.update,
    end: () => ends.update(true),
  }
}
