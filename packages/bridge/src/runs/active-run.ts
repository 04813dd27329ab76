import type { Reply } from '@reply/core'
import type { Actor, Sink } from '@reply/sink'
import type { Authored, ChannelActor, People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Execution } from '../registry/execution.ts'

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
