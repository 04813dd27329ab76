import type { Reply } from '@reply/core'
import type { Mirrors } from '../mirrors.ts'
import type { ChatPlace } from '../place.ts'
import type { ActiveRun } from './active-run.ts'

/** The runs that are followed here. */
export interface Running {
  /** Adds a run, until it has ended. */
  add(run: ActiveRun): void
  /** Those of a place and its mirrors that the place of their prompt does not show whole yet. */
  active(place: ChatPlace): readonly ActiveRun[]
  /** Also those that only a mirror has yet to show. */
  followed(place: ChatPlace): readonly ActiveRun[]
  /** Whether a run of the session is active, in any place. */
  isAtWork(sessionID: string): boolean
  /** Those of all places, also those that only a mirror has yet to show. */
  all(): readonly ActiveRun[]
  /** Whether a reply is of a prompt's run. Undefined as long as a run of that session is yet to be posted. */
  isFollowed(reply: Reply): boolean | undefined
}

export function createRunning(mirrors: Pick<Mirrors, 'keyOf'>): Running {
  const runs = new Map<string, Set<ActiveRun>>()
  const delivered = new WeakSet<ActiveRun>()
  const isActive = (run: ActiveRun): boolean => !delivered.has(run)
  const followed = (place: ChatPlace): readonly ActiveRun[] => [...(runs.get(mirrors.keyOf(place)) ?? [])]
  return {
    ...{ add, followed, all, isFollowed },
    active: (place) => followed(place).filter(isActive),
    isAtWork: (sessionID) => all().some((run) => isActive(run) && run.execution().sessionID === sessionID),
  }

  function add(run: ActiveRun): void {
    const key = mirrors.keyOf(run.execution().prompt)
    const here = runs.get(key) ?? new Set()
    runs.set(key, here.add(run))
    void run.delivered.then(() => delivered.add(run))
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
