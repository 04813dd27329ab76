import type { Reply } from '@reply/core'
import { createRecent } from '@reply/sink/internal'
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
  isFollowed(reply: Pick<Reply, 'sessionID' | 'startedAt' | 'messages'>): boolean | undefined
}

/** How many messages of prompts' runs that have ended are remembered. */
const mostMessages = 10_000

export function createRunning(mirrors: Pick<Mirrors, 'keyOf'>): Running {
  const runs = new Map<string, Set<ActiveRun>>()
  const delivered = new WeakSet<ActiveRun>()
  const answered = createRecent<true>(mostMessages)
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
      if (run.execution().wokenBy === undefined)
        for (const { id } of run.stream()?.reply?.messages ?? []) answered.set(id, true)
      if (here.size === 0 && runs.get(key) === here) runs.delete(key)
    })
  }

  function all(): readonly ActiveRun[] {
    return [...runs.values()].flatMap((here) => [...here])
  }

  /**
   * What the session did by itself before doesn't count: it may hear of its end later than of the next reply. A run that
   * was read as ended may be heard once more, by its last events, and then without its prompt.
   */
  function isFollowed({
    sessionID,
    startedAt,
    messages,
  }: Pick<Reply, 'sessionID' | 'startedAt' | 'messages'>): boolean | undefined {
    const own = all().flatMap(({ execution, stream }) => {
      const { sessionID: id, wokenBy } = execution()
      return id === sessionID && wokenBy === undefined ? [stream()?.reply] : []
    })
    const ids = new Set(own.flatMap((reply) => reply?.messages.map(({ id }) => id) ?? []))
    if (messages.some(({ id }) => ids.has(id) || answered.has(id))) return true
    if (startedAt !== undefined && own.some((reply) => reply?.startedAt === startedAt)) return true
    return own.some((reply) => reply?.startedAt === undefined) ? undefined : false
  }
}
