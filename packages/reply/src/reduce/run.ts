import type { Change } from '../change.ts'
import { same } from '../fields.ts'
import type { ReplyFailure } from '../part.ts'
import type { Phase, Reply, Retry } from '../reply.ts'
import { isAnyPending } from './ask-list.ts'
import { withFields } from './shape.ts'

/**
 * The phase of a reply that hasn't settled: `blocked` while an ask is pending, else `retrying` while a retry is.
 * Otherwise `waiting` if it was and has no message or running sub-agent, else `working`.
 */
export function phaseOf(reply: Reply): Phase {
  if (isAnyPending(reply.asks)) return 'blocked'
  if (reply.retry) return 'retrying'
  return reply.phase === 'waiting' && reply.messages.length === 0 && !isAnyChildRunning(reply) ? 'waiting' : 'working'
}

/** Whether any sub-agent has not settled. */
export function isAnyChildRunning(reply: Reply): boolean {
  return reply.children.some((child) => child.reply.phase !== 'settled')
}

/**
 * Whether only background sub-agents opened this reply and nothing ever ran in the session itself. False without
 * sub-agents.
 */
export function isOnlyOfBackgroundChildren(reply: Reply): boolean {
  const { children, promptIDs, messages, prompt, compaction } = reply
  return children.length > 0 && promptIDs.length === 0 && messages.length === 0 && !prompt && !compaction
}

/** Sets the phase to `working` and ends a retry, if the reply was waiting or retrying. Reports no change itself. */
export function applyBusy(reply: Reply): Reply {
  if (reply.phase !== 'waiting' && !reply.retry) return reply
  return withFields(reply, { phase: 'working', retry: undefined })
}

/** Sets the pending retry, starts a waiting reply, and reports the retry. Does nothing if it is already known. */
export function applyRetry(reply: Reply, retry: Retry, changes: Change[]): Reply {
  if (same(reply.retry, retry)) return reply
  changes.push({ type: 'sessionRetried', ...retry })
  return withFields(reply, { retry, phase: reply.phase === 'waiting' ? 'working' : reply.phase })
}

/**
 * Sets the error of the reply and reports it. Does nothing for an error with the same name and message, because both
 * the session and the message may carry it.
 */
export function reportError(reply: Reply, error: ReplyFailure, changes: Change[]): Reply {
  if (reply.error?.name === error.name && reply.error.message === error.message) return reply
  const text = error.message === '' ? error.name : `${error.name}: ${error.message}`
  changes.push({ type: 'sessionErrored', text, error })
  return withFields(reply, { error })
}
