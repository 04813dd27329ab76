import type { Ask, PostedPrompt, Reply } from '@reply/core'
import { quotable } from '@reply/sink/channel'
import type { Authored } from '../people/people.ts'
import { texts } from '../texts.ts'
import type { QueuedPrompt } from './queued-prompt.ts'
import type { Tried } from './tried.ts'

/**
 * A prompt or command, and the state of its run. The phases:
 *
 * - `planned`: stored, but not posted yet.
 * - `posting`: posted, or about to be. After a restart, it can be found with `posted`.
 * - `delivering`: the run has ended. The chat may not show the whole answer yet.
 * - `undelivered`: the run has ended, and the answer is stored as a failed delivery.
 * - `done`: finished.
 */
export interface Execution extends Tried {
  /** A short id, which people see. */
  readonly id: string
  /** The prompt as it was received, with its chat and author. */
  readonly prompt: QueuedPrompt
  /** The server's name in the config. */
  readonly server: string
  /** Absent until the session is known. */
  readonly sessionID?: string | undefined
  /** The agent that answers. Absent if none was chosen. */
  readonly agent?: string | undefined
  readonly phase: (typeof phases)[number]
  /** Set from `posting` on. */
  readonly posted?: PostedPrompt | undefined
  /** `stopped`: a person stopped it, in the chat or elsewhere, or rejected a request. */
  readonly status: (typeof statuses)[number]
  /** In ms since the epoch. */
  readonly startedAt: number
  /** In ms since the epoch. Absent while it runs. */
  readonly finishedAt?: number | undefined
  /** Why it was stopped or failed. Set if and only if the status is `stopped` or `error`. */
  readonly reason?: string | undefined
  /** Set if a person stopped it from the chat. */
  readonly isCanceled?: true | undefined
  /** Set if all authors had the right `approve` when it started. */
  readonly isByApprovers?: true | undefined
  /** Set if it steers a run that is already shown, so people don't see it as an execution of its own. */
  readonly isSteer?: true | undefined
  /**
   * Set for an unprompted run, for example after a background sub-agent is done. `prompt` is then that of the session's last
   * run. The value is an id by which the reply is recognized, and under which the chats store its messages. See
   * `namesOfUnprompted`.
   */
  readonly startedBy?: string | undefined
  /** More ids by which the reply is recognized, which it got later. */
  readonly names?: readonly string[] | undefined
  /**
   * Set for a run that was started elsewhere, for example in a terminal: what the chat shows of it. `prompt` then names the chat,
   * and has no author. `joined`: all, because a prompt of the chat joined it.
   */
  readonly followed?: 'asks' | 'all' | 'joined' | undefined
  /** Set with `followed`, if another chat began it: the name of the person there. */
  readonly author?: string | undefined
  /** Set with `followed`: where it was started, as the chat shows it. */
  readonly origin?: string | undefined
  /** The asks that are pending, as they were shown, so that the next process can close their messages. Absent without any. */
  readonly asks?: readonly Ask[] | undefined
  /** Prompts that joined the run and that the chat quotes, because no chat wrote them, and where that was. */
  readonly quoted?: { readonly promptIDs: readonly string[]; readonly origin: string } | undefined
  /** Set with `joined`: the messages of people whose prompts joined it, one for each person. */
  readonly joinedBy?: readonly JoiningPrompt[] | undefined
}

/** Whether the chat shows a run silently: one that was started elsewhere, until a prompt of the chat joins it. */
export function isQuietRun({ followed }: Pick<Execution, 'followed'>): boolean {
  return followed === 'asks' || followed === 'all'
}

/** A prompt of a chat that joined a run which was started elsewhere. */
export type JoiningPrompt = Pick<QueuedPrompt, 'channel' | 'chat' | 'actor' | 'messageRef'>

/**
 * Returns whose run it is: the author and the editors of its prompt, or the people whose prompts joined a run that was started
 * elsewhere. Without those, an author who has no rights.
 */
export function authorsOf({ prompt, joinedBy = [] }: Execution): Authored {
  const [first, ...editors] = joinedBy
  return first ? { ...first, editors } : prompt
}

/** The values of `Execution.phase`, in order. */
export const phases = ['planned', 'posting', 'delivering', 'undelivered', 'done'] as const

/** The values of `Execution.status`. */
export const statuses = ['running', 'complete', 'stopped', 'error'] as const

/** Whether no process has to continue it: it is done, or a person decides about its answer. */
export function isOver({ phase }: Pick<Execution, 'phase'>): boolean {
  return phase === 'done' || phase === 'undelivered'
}

/**
 * Returns the status of an execution from its settled reply, with a reason unless it is complete. A failed reply has the
 * message of its error as the reason, without secrets, or else the name of the error. One without an outcome counts as failed.
 */
export function statusOf(reply: Reply): Pick<Execution, 'status' | 'reason'> {
  const { outcome, error, lostReason } = reply
  switch (outcome) {
    case 'completed':
      return { status: 'complete' }
    case 'stopped':
      return { status: 'stopped', reason: texts.stoppedEarly }
    case 'aborted':
      return { status: 'stopped', reason: texts.aborted }
    case 'timed-out':
      return { status: 'error', reason: texts.timedOut }
    case 'lost':
      return { status: 'error', reason: texts.lost(lostReason ?? texts.endNotSeen) }
    case 'failed':
    case undefined:
      return { status: 'error', reason: error ? quotable(error.message) || error.name : texts.failedWithoutReason }
  }
  return outcome satisfies never
}

/** One line of a log. */
export interface LogLine {
  /** `stdout`: the agent's text. `stderr`: errors of tools and of the run, and what a command wrote there. */
  readonly from: 'stdout' | 'stderr'
  /** Without control sequences and line breaks. */
  readonly text: string
}
