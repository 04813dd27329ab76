import type { Mirrors } from '../mirrors.ts'
import type { ChatPlace } from '../place.ts'
import type { ActiveRun } from './active-run.ts'

/** The runs that are followed here. */
export interface Running {
  /** Adds a run, until it has ended. */
  add(run: ActiveRun): void
  /** Those of a place and its mirrors. */
  of(place: ChatPlace): readonly ActiveRun[]
  /** Those of all places. */
  all(): readonly ActiveRun[]
  /** Whether a prompt's run has the session's reply, or is about to. */
  isFollowed(sessionID: string): boolean
}

export function createRunning(mirrors: Pick<Mirrors, 'keyOf'>): Running {
  const runs = new Map<string, Set<ActiveRun>>()
  return { add, of: (place) => [...(runs.get(mirrors.keyOf(place)) ?? [])], all, isFollowed }

  function add(run: ActiveRun): void {
    const key = mirrors.keyOf(run.execution().prompt)
    const here = runs.get(key) ?? new Set()
    runs.set(key, here.add(run))
    void run.ended.then(() => {
      here.delete(run)
      if (here.size === 0 && runs.get(key) === here) runs.delete(key)
    })
  }

  function all(): readonly ActiveRun[] {
    return [...runs.values()].flatMap((here) => [...here])
  }

  /**
   * One whose reply has settled only shows it. What the session did by itself before doesn't count: it may hear of its end
   * later than of the next reply.
   */
  function isFollowed(sessionID: string): boolean {
    return all().some(({ execution, stream }) => {
      const { sessionID: own, wokenBy } = execution()
      return own === sessionID && wokenBy === undefined && stream()?.reply?.phase !== 'settled'
    })
  }
}
