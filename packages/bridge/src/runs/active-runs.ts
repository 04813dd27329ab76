import type { Reply } from '@reply/core'
import type { Actor, Sink } from '@reply/sink'
import { createRecent } from '@reply/sink/internal'
import type { Mirrors } from '../config/mirrors.ts'
import type { Authored, ChannelActor, People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Execution } from '../state/execution.ts'

/** What is known of a run on its server. */
export interface Followed {
  /** The newest state; undefined until the session is known. */
  readonly reply: Reply | undefined
  /** Ends it. Rejects with `not-stopped` if it was not seen to stop. */
  abort(): Promise<Reply>
}

/** A sink, and the place where it shows a reply. */
export interface Shown extends ChatPlace {
  readonly sink: Sink
  /** The sink is told of nothing until this resolves. It never rejects. */
  readonly after?: Promise<void> | undefined
}

/** A run that is followed here. */
export interface ActiveRun {
  /** As it is stored now. */
  readonly execution: () => Execution
  /** What shows the reply: that of its own place first, then those of the place's mirrors. */
  readonly shows: readonly [Shown, ...Shown[]]
  /** Undefined until it was posted, or found again after a restart. */
  readonly stream: () => Followed | undefined
  /** A message about it is in the chat. */
  shown(): void
  /** Ends the run. Rejects with `not-stopped` if it was not seen to stop. */
  cancel(): Promise<void>
  /** Resolves when it was posted, or found again after a restart, or could not be. Never rejects. */
  readonly found: Promise<void>
  /** Resolves when its own place shows all of it, at the latest when it has ended. Never rejects. */
  readonly delivered: Promise<void>
  /** Resolves when the run is over, shown in all places, and written down. Never rejects. */
  readonly ended: Promise<void>
}

/** Ends a run for a person, whose name the messages of its waiting asks then show. Rejects as `cancel` does. */
export async function cancelFor({ shows, cancel }: ActiveRun, actor: Actor): Promise<void> {
  const undos = shows.map(({ sink }) => sink.stoppedBy(actor))
  try {
    await cancel()
  } catch (error) {
    for (const undo of undos) undo()
    throw error
  }
}

/** Whether a person may stop or steer a run: one's own, or any with the right `admin`. */
export function mayActOn(
  { execution }: ActiveRun,
  who: ChannelActor,
  people: Pick<People, 'find' | 'isSame'>,
): boolean {
  return people.find(who.channel, who.actor)?.may.has('admin') === true || people.isSame(execution().prompt, who)
}

/**
 * Whether a prompt may go into a run: its author may act on the run, and one that began with the words of people with
 * `approve` alone gets none of a person without it.
 */
export function maySteer(
  run: ActiveRun,
  prompt: ChannelActor & Authored,
  people: Pick<People, 'find' | 'isSame' | 'mayAll'>,
): boolean {
  if (!mayActOn(run, prompt, people)) return false
  return people.mayAll(prompt, 'approve') || run.execution().isByApprovers !== true
}

/** The runs that are followed here. */
export interface ActiveRuns {
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

export function createActiveRuns(mirrors: Pick<Mirrors, 'keyOf'>): ActiveRuns {
  const runs = new Map<string, Set<ActiveRun>>()
  const delivered = new WeakSet<ActiveRun>()
  const answered = createRecent<true>(mostMessages)
  const isActive = (run: ActiveRun): boolean => !delivered.has(run)
  const followed = (place: ChatPlace): readonly ActiveRun[] => [...(runs.get(mirrors.keyOf(place)) ?? [])]
  return {
    add,
    followed,
    all,
    isFollowed,
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
      if (run.execution().startedBy === undefined)
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
      const { sessionID: id, startedBy } = execution()
      return id === sessionID && startedBy === undefined ? [stream()?.reply] : []
    })
    const ids = new Set(own.flatMap((reply) => reply?.messages.map(({ id }) => id) ?? []))
    if (messages.some(({ id }) => ids.has(id) || answered.has(id))) return true
    if (startedAt !== undefined && own.some((reply) => reply?.startedAt === startedAt)) return true
    return own.some((reply) => reply?.startedAt === undefined) ? undefined : false
  }
}
