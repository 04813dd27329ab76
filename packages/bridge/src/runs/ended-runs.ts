import { observerOf, type ReplyObserver } from '@reply/core'
import { passOn } from './show-run.ts'

/** Releases the observers of runs that ended long ago. Otherwise a client keeps them with its settled replies. */
export interface EndedRuns {
  createRunObservers(): RunObservers
}

/** The observers of one run. Released after enough other runs have ended. */
export interface RunObservers {
  /** Returns an observer for each of these, which forwards to it until the run is released. */
  wrap(observers: readonly ReplyObserver[]): readonly ReplyObserver[]
  /** Call it when the run has ended. */
  releaseLater(): void
}

/** `most`: for how many ended runs later changes of the reply are still shown. */
export function createEndedRuns(maxEnded: number): EndedRuns {
  const ended: (() => void)[] = []
  return { createRunObservers }

  function createRunObservers(): RunObservers {
    let groups: (readonly ReplyObserver[])[] = []
    return { wrap: wrap, releaseLater }

    function wrap(observers: readonly ReplyObserver[]): readonly ReplyObserver[] {
      const group = groups.push(observers) - 1
      return observers.map((_, index) =>
        observerOf((observation) => {
          const observer = groups[group]?.[index]
          if (observer) passOn(observer, observation)
        }),
      )
    }

    function releaseLater(): void {
      ended.push(() => {
        groups = []
      })
      if (ended.length > maxEnded) ended.shift()?.()
    }
  }
}
