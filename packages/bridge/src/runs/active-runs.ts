import { pendingAsks, type Reply } from '@reply/core'
import type { Actor, Sink } from '@reply/sink'
import { createRecent } from '@reply/sink/internal'
import type { Mirrors } from '../config/mirrors.ts'
import type { Authored, ChannelActor, People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Execution, JoiningPrompt } from '../state/execution.ts'

/** A run on its server. */
export interface ServerRun {
  /** The newest reply. Undefined until the session is known. */
  readonly reply: Reply | undefined
  /** Aborts the run. Rejects with `not-stopped` if the server does not confirm it. */
  abort(): Promise<Reply>
}

/** A sink and the place where it shows a reply. */
export interface ChatSink extends ChatPlace {
  readonly sink: Sink
  /** The sink gets no observations until this resolves. Never rejects. */
  readonly after?: Promise<void> | undefined
}

/** A run that this process follows. */
export interface ActiveRun {
  /** Returns the execution as it is stored. */
  readonly execution: () => Execution
  /**
   * Returns how long ago it started, in ms: by the clocks of this process, and before that by the store's. Infinity if an earlier
   * process started it and that is not known.
   */
  readonly ageMs: () => number
  /** The sinks that show the reply: first that of its own place, then those of the place's mirrors. */
  readonly sinks: readonly [ChatSink, ...ChatSink[]]
  /** Returns undefined until the prompt was posted, or found after a restart. */
  readonly stream: () => ServerRun | undefined
  /**
   * Whether the reply of `stream` turned out to be a run that another client began, and the prompt's own is not found yet.
   * Default: false.
   */
  readonly isOvertaken?: (() => boolean) | undefined
  /** Whether the prompt joined a reply that another run shows. Default: false. */
  readonly isShownElsewhere?: (() => boolean) | undefined
  /** Call it when the chat shows a message of the run. */
  onShown(): void
  /** Aborts the run for a person. Rejects with `not-stopped` if the server does not confirm it. */
  cancel(): Promise<void>
  /** Shows all of a run that was started elsewhere, because a prompt of the chat joined it. Absent for other runs. */
  readonly join?: ((prompt: JoiningPrompt) => void) | undefined
  /** Shows the requests that wait again, if the chat had left the run. Absent for runs that were not started elsewhere. */
  readonly lookAgain?: (() => void) | undefined
  /** Whether the chat has left the run, whose requests another chat shows. Absent for runs that were not started elsewhere. */
  readonly hasLeft?: (() => boolean) | undefined
  /** Resolves when the prompt is about to be posted or was found after a restart, or when that failed. Never rejects. */
  readonly found: Promise<void>
  /** Resolves when the server has the prompt, or when the run has ended. Never rejects. */
  readonly accepted: Promise<void>
  /** Resolves when its own place shows the whole answer, at the latest when `ended` does. Never rejects. */
  readonly delivered: Promise<void>
  /**
   * Resolves when no request of the run waits for an answer, at the latest when `ended` does. Never rejects. Absent if messages wait
   * for `delivered` anyway.
   */
  readonly answered?: (() => Promise<void>) | undefined
  /** Resolves when the run has ended, all places show it, and its end is stored. Never rejects. */
  readonly ended: Promise<void>
}

/**
 * Aborts a run for a person, whose name the messages of its pending asks then show. Rejects like `cancel`, and the messages
 * then no longer show the name.
 */
export async function cancelFor(run: ActiveRun, actor: Actor): Promise<void> {
  await closeFor(run, actor, run.cancel)
}

/**
 * Makes a call that closes an ask of a run for a person, or all of them, and has their messages show the name of that person. Rejects
 * like the call, and the messages then no longer show the name.
 */
export async function closeFor(
  { sinks }: Pick<ActiveRun, 'sinks'>,
  actor: Actor,
  close: () => Promise<unknown>,
  requestID?: string,
): Promise<void> {
  const undos = sinks.map(({ sink }) => sink.closedBy(actor, requestID))
  try {
    await close()
  } catch (error) {
    for (const undo of undos) undo()
    throw error
  }
}

/**
 * Whether a person may stop or steer a run: the runs of prompts that they sent, those that were started elsewhere with the right
 * `approve`, or all with the right `admin`. False for strangers, and for people who only edited the prompt.
 */
export function mayActOn(
  { execution }: ActiveRun,
  person: ChannelActor,
  people: Pick<People, 'personOf' | 'isSamePerson'>,
): boolean {
  const may = people.personOf(person.channel, person.actor)?.may
  return (
    may?.has('admin') === true ||
    (execution().followed !== undefined && may?.has('approve') === true) ||
    people.isSamePerson(execution().prompt, person)
  )
}

/**
 * Whether a prompt may steer a run. Its author must be allowed to act on the run, see `mayActOn`. A run whose authors all had
 * `approve` when it started accepts no text that a person without it wrote or edited.
 */
export function maySteer(
  run: ActiveRun,
  prompt: ChannelActor & Authored,
  people: Pick<People, 'personOf' | 'isSamePerson' | 'allMay'>,
): boolean {
  if (!mayActOn(run, prompt, people)) return false
  return people.allMay(prompt, 'approve') || run.execution().isByApprovers !== true
}

/** Whether a request of the run waits for an answer. */
export function isAsking({ stream }: ActiveRun): boolean {
  const reply = stream()?.reply
  return reply !== undefined && pendingAsks(reply).length > 0
}

/** The runs that this process follows. */
export interface ActiveRuns {
  /** Adds a run to its place. It is removed when it has ended. */
  addUntilEnded(run: ActiveRun): void
  /** The runs of a place and its mirrors whose own place does not show the whole answer yet. */
  active(place: ChatPlace): readonly ActiveRun[]
  /** Like `active`, and also runs that only a mirror does not show yet. */
  followed(place: ChatPlace): readonly ActiveRun[]
  /** Whether a run of the session is active, in any place. Runs whose session is not known yet don't count. */
  isSessionBusy(sessionID: string): boolean
  /** The runs of all places, including those that only a mirror does not show yet. */
  all(): readonly ActiveRun[]
  /** Whether a reply belongs to the run of a prompt. Undefined while a run of that session has not been posted yet. */
  isOfPromptedRun(reply: Pick<Reply, 'sessionID' | 'startedAt' | 'messages'>): boolean | undefined
  /** The run that shows the reply in the place of an execution, other than that of the execution. Undefined if there is none. */
  showing(
    execution: Pick<Execution, 'id'> & { readonly prompt: ChatPlace },
    reply: Pick<Reply, 'sessionID' | 'promptIDs'>,
  ): ActiveRun | undefined
  /** Whether a reply shares a message with the run of a prompt that has ended. */
  isOfEndedRun(reply: Pick<Reply, 'messages'>): boolean
  /** Whether a run of the session is being looked for that an earlier process posted. A reply that has ended may be its own. */
  isFindingRun(sessionID: string): boolean
}

/** How many message ids of ended runs are remembered. */
const mostMessages = 10_000

/** Keeps the runs in memory, by place. */
export function createActiveRuns(mirrors: Pick<Mirrors, 'keyOf'>): ActiveRuns {
  const runs = new Map<string, Set<ActiveRun>>()
  const deliveredRuns = new WeakSet<ActiveRun>()
  const endedMessageIDs = createRecent<true>(mostMessages)
  const isActive = (run: ActiveRun): boolean => !deliveredRuns.has(run)
  const followed = (place: ChatPlace): readonly ActiveRun[] => [...(runs.get(mirrors.keyOf(place)) ?? [])]
  return {
    addUntilEnded,
    followed,
    all,
    isOfPromptedRun,
    isFindingRun,
    showing,
    isOfEndedRun: ({ messages }) => messages.some(({ id }) => endedMessageIDs.has(id)),
    active: (place) => followed(place).filter(isActive),
    isSessionBusy: (sessionID) => all().some((run) => isActive(run) && run.execution().sessionID === sessionID),
  }

  /**
   * Adds a run under its place. When it ends, removes it, and remembers the ids of its messages for `isOfPromptedRun` unless it
   * was unprompted.
   */
  function addUntilEnded(run: ActiveRun): void {
    const key = mirrors.keyOf(run.execution().prompt)
    const here = runs.get(key) ?? new Set()
    runs.set(key, here.add(run))
    void run.delivered.then(() => deliveredRuns.add(run))
    void run.ended.then(() => {
      here.delete(run)
      if (run.execution().startedBy === undefined)
        for (const { id } of run.stream()?.reply?.messages ?? []) endedMessageIDs.set(id, true)
      if (here.size === 0 && runs.get(key) === here) runs.delete(key)
    })
  }

  /** Whether a run of the session was posted, and has no reply yet. The stream of a run that is posted now has a reply at once. */
  function isFindingRun(sessionID: string): boolean {
    return all().some(({ execution, stream }) => {
      const { sessionID: id, startedBy, posted } = execution()
      return id === sessionID && startedBy === undefined && posted !== undefined && !stream()
    })
  }

  /** Returns the run of the same place that shows the reply. One that left it, or leaves it to another run, does not. */
  function showing(
    { id, prompt }: Pick<Execution, 'id'> & { readonly prompt: ChatPlace },
    { sessionID, promptIDs: [first] }: Pick<Reply, 'sessionID' | 'promptIDs'>,
  ): ActiveRun | undefined {
    return followed(prompt).find((run) => {
      const shown = run.isOvertaken?.() || run.isShownElsewhere?.() ? undefined : run.stream()?.reply
      return run.execution().id !== id && shown?.sessionID === sessionID && shown.promptIDs[0] === first
    })
  }

  /** Returns the runs of all places. */
  function all(): readonly ActiveRun[] {
    return [...runs.values()].flatMap((here) => [...here])
  }

  /**
   * Whether a reply belongs to the run of a prompt, and so is not shown as an unprompted one: it shares a message with an
   * active or ended run, or the start time with an active one of its session. Undefined while the reply of such a run is not
   * known, because this may be it. A reply that a run has left, because another client began it, is not the run's. Ignores unprompted runs, whose end may arrive after the start of the next reply. The
   * messages of ended runs count, because their last events may arrive late, and then without the prompt.
   */
  function isOfPromptedRun({
    sessionID,
    startedAt,
    messages,
  }: Pick<Reply, 'sessionID' | 'startedAt' | 'messages'>): boolean | undefined {
    const prompted = all().flatMap(({ execution, stream, isOvertaken }) => {
      const { sessionID: id, startedBy } = execution()
      const isOfSession = id === sessionID && startedBy === undefined
      return isOfSession ? [{ reply: stream()?.reply, isLeft: isOvertaken?.() === true }] : []
    })
    const ids = new Set(prompted.flatMap(({ reply }) => reply?.messages.map(({ id }) => id) ?? []))
    if (messages.some(({ id }) => ids.has(id) || endedMessageIDs.has(id))) return true
    const isSame = (reply: Reply | undefined): boolean => startedAt !== undefined && reply?.startedAt === startedAt
    if (prompted.some(({ reply, isLeft }) => isSame(reply) && !isLeft)) return true
    const isUnknown = prompted.some(({ reply, isLeft }) => (isLeft ? !isSame(reply) : reply?.startedAt === undefined))
    return isUnknown ? undefined : false
  }
}
