import { observerOf, type ReplyObserver } from '@reply/core'
import { passOn } from './show-run.ts'

/** Lets go of what showed runs that ended long ago. Otherwise a connection keeps it with their settled replies. */
export interface EndedRuns {
  begin(): RunObservers
}

/** What observes one run, until enough others have ended after it. */
export interface RunObservers {
  /** Observers that pass on to these while they are held, one for each. */
  hold(observers: readonly ReplyObserver[]): readonly ReplyObserver[]
  /** The run has ended. */
  end(): void
}

/** `most`: how many ended runs are held, and so how many still show what changes in their replies after the end. */
export function createEndedRuns(most: number): EndedRuns {
  const ended: (() => void)[] = []
  return { begin }

  function begin(): RunObservers {
    let held: (readonly ReplyObserver[])[] = []
    return { hold, end }

    function hold(observers: readonly ReplyObserver[]): readonly ReplyObserver[] {
      const group = held.push(observers) - 1
      return observers.map((_, index) =>
        observerOf((observation) => {
          const observer = held[group]?.[index]
          if (observer) passOn(observer, observation)
        }),
      )
    }

    function end(): void {
      ended.push(() => {
        held = []
      })
      if (ended.length > most) ended.shift()?.()
    }
  }
}
