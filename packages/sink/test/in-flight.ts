import { until } from '@reply/testing'

export interface InFlight {
  /** How many calls have no answer yet. */
  readonly count: number
  /** Counts a call until it has its answer. */
  during<T>(call: () => Promise<T>): Promise<T>
  /** Waits until every call has its answer, except those that never get one. */
  rest(): Promise<void>
}

/** The calls of a client to a fake server. `stalled`: how many of them the server has left without an answer. */
export function createInFlight(stalled: () => number = () => 0): InFlight {
  let count = 0
  return {
    get count() {
      return count
    },
    during: async (call) => {
      count += 1
      try {
        return await call()
      } finally {
        count -= 1
      }
    },
    rest: async () => {
      // An answer may lead to the next call within a few turns.
      let calmTurns = 0
      await until(() => {
        calmTurns = count <= stalled() ? calmTurns + 1 : 0
        return calmTurns > 3
      }, 'every call has its answer')
    },
  }
}

/** How many calls a fake server has left without an answer. */
export function stalledIn(calls: readonly { readonly fault?: string }[]): number {
  return calls.filter(({ fault }) => fault?.includes('stall')).length
}
