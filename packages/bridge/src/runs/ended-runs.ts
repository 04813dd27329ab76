import { observerOf, type ReplyObserver } from '@reply/core'
import { passOn } from './show-run.ts'

/** Releases the observers of runs that ended long ago. Otherwise a client keeps them with its settled replies. */
export interface EndedRuns {
  /** Creates the observers of one run. */
  createRunObservers(): RunObservers
}

/** The observers of one run. Released after enough other runs have ended. */
export interface RunObservers {
  /** Returns an observer for each of these, which forwards to it until the run is released. */
  wrap(observers: readonly ReplyObserver[]): readonly ReplyObserver[]
  /** Call it when the run has ended. Its observers are released when enough other runs have ended after it. */
  releaseLater(): void
}

/** Keeps observing the replies of the newest `maxEnded` ended runs, so that later changes are still shown. */
export function createEndedRuns(maxEnded: number): EndedRuns {
  const releases: (() => void)[] = []
  return { createRunObservers }

  /** Creates the observers of one run, which can be released. */
  function createRunObservers(): RunObservers {
    let groups: (readonly ReplyObserver[])[] = []
    return { wrap, releaseLater }

    /** Returns an observer for each given one, which forwards to it, and ignores everything after the release. */
    function wrap(observers: readonly ReplyObserver[]): readonly ReplyObserver[] {
      const groupIndex = groups.push(observers) - 1
      return observers.map((_, index) =>
        observerOf((observation) => {
          const observer = groups[groupIndex]?.[index]
          if (observer) passOn(observer, observation)
        }),
      )
    }

    /** Queues the release of this run. If more than `maxEnded` are queued, releases the oldest of them. */
    function releaseLater(): void {
      releases.push(() => {
        groups = []
      })
      if (releases.length > maxEnded) releases.shift()?.()
    }
  }
}
