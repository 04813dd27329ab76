import type { Reply } from '@reply/core'
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
  /** Whether a reply is of a prompt's run. Undefined as long as a run of that session is yet to be posted. */
  isFollowed(reply: Reply): boolean | undefined
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

  /** What the session did by itself before doesn't count: it may hear of its end later than of the next reply. */
  function isFollowed({ sessionID, startedAt }: Reply): boolean | undefined {
    const own = all().flatMap(({ execution, stream }) => {
      const { sessionID: id, wokenBy } = execution()
      return id === sessionID && wokenBy === undefined ? [stream()?.reply?.startedAt] : []
    })
    if (own.includes(startedAt)) return true
    return own.includes(undefined) ? undefined : false
  }
}
