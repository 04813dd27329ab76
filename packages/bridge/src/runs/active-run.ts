import type { Reply } from '@reply/core'
import type { Sink } from '@reply/sink'
import type { QueuedPrompt } from '../intake/queued-prompt.ts'
import type { Person } from '../people/people.ts'
import type { Execution } from '../registry/execution.ts'

/** What is known of a run on its server. */
export interface Followed {
  /** The newest state; undefined until the session is known. */
  readonly reply: Reply | undefined
  /** Ends it. Rejects with `not-stopped` if it was not seen to stop. */
  abort(): Promise<Reply>
}

/** A run that is followed here. */
export interface ActiveRun {
  /** As it is stored now. */
  readonly execution: () => Execution
  /** Shows the reply. */
  readonly sink: Sink
  /** Undefined until it was posted, or found again after a restart. */
  readonly stream: () => Followed | undefined
  /** A message about it is in the chat. */
  shown(): void
  /** Ends the run. Rejects with `not-stopped` if it was not seen to stop. */
  cancel(): Promise<void>
  /** Resolves when it was posted, or found again after a restart, or could not be. Never rejects. */
  readonly found: Promise<void>
  /** Resolves when the run is over and written down. Never rejects. */
  readonly ended: Promise<void>
}

/** Whether a person may stop or steer a run: one's own, or any with the right `admin`. */
export function mayActOn({ execution }: ActiveRun, { actor }: Pick<QueuedPrompt, 'actor'>, person: Person): boolean {
  return person.may.has('admin') || execution().prompt.actor.id === actor.id
}
