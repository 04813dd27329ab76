import type { PostedPrompt, Reply } from '@reply/core'
import { quotable } from '@reply/sink/channel'
import type { QueuedPrompt } from './queued-prompt.ts'

/**
 * One prompt or command and what became of it.
 *
 * - `planned`: written down, nothing was posted yet.
 * - `posting`: it was, or was about to be, posted; `posted` finds it again.
 * - `delivering`: the run is over, and the chat may not show all of it yet.
 * - `undelivered`: the same, but the chat may not show all of its answer, which is kept as a failed delivery.
 * - `done`: nothing is left to do.
 */
export interface Execution {
  /** Short, as people see it. */
  readonly id: string
  /** The prompt as it was heard, with its chat and its person. */
  readonly prompt: QueuedPrompt
  /** The server's name in the config. */
  readonly server: string
  /** Absent until the session is known. */
  readonly sessionID?: string | undefined
  /** The agent that answers, if one was chosen. */
  readonly agent?: string | undefined
  readonly phase: (typeof phases)[number]
  /** Set from `posting` on. */
  readonly posted?: PostedPrompt | undefined
  /** `stopped`: a person ended it, from the chat or elsewhere, or by a rejection. */
  readonly status: (typeof statuses)[number]
  /** In ms since the epoch. */
  readonly startedAt: number
  /** In ms since the epoch. Absent while it runs. */
  readonly finishedAt?: number | undefined
  /** Why it was stopped or failed. Set exactly with `stopped` and `error`. */
  readonly reason?: string | undefined
  /** A person stopped it from the chat. */
  readonly isCanceled?: true | undefined
  /** All whose words it has had the right `approve` when it began. */
  readonly isByApprovers?: true | undefined
  /** It joined a run that is shown already, so people don't see it as an execution of its own. */
  readonly isSteer?: true | undefined
  /**
   * The session went on by itself after the run of `prompt`, as when a background sub-agent is done. It names the
   * message that this began with.
   */
  readonly startedBy?: string | undefined
}

/** All of `Execution.phase`, in their order. */
export const phases = ['planned', 'posting', 'delivering', 'undelivered', 'done'] as const

/** All of `Execution.status`. */
export const statuses = ['running', 'complete', 'stopped', 'error'] as const

/** No process has to go on with it: it is done, or a person decides about its answer. */
export function isOver({ phase }: Pick<Execution, 'phase'>): boolean {
  return phase === 'done' || phase === 'undelivered'
}

/** How an execution ended, by its reply. */
export function endOf(reply: Reply): Pick<Execution, 'status' | 'reason'> {
  const { outcome, error, lostReason } = reply
  switch (outcome) {
    case 'completed':
      return { status: 'complete' }
    case 'stopped':
      return { status: 'stopped', reason: 'Stopped before the end' }
    case 'aborted':
      return { status: 'stopped', reason: 'Aborted' }
    case 'timed-out':
      return { status: 'error', reason: 'Timed out' }
    case 'lost':
      return { status: 'error', reason: `Lost: ${lostReason ?? 'the end was not seen'}` }
    case 'failed':
    case undefined:
      return { status: 'error', reason: error ? quotable(error.message) || error.name : 'Failed' }
  }
  return outcome satisfies never
}

/** One line of a log. */
export interface LogLine {
  /** `stdout`: the agent's text. `stderr`: errors of tools and of the run. */
  readonly from: 'stdout' | 'stderr'
  /** Without control sequences and line breaks. */
  readonly text: string
}
