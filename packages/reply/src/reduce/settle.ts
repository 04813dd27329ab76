import type { Change } from '../change.ts'
import type { SettleEvent } from '../event.ts'
import type { LostReason, Message, Outcome, Reply } from '../reply.ts'
import { withdraw } from './ask.ts'
import { adoptChild } from './child.ts'
import { indexOf, withMessageAt } from './part.ts'
import { withOpenChanged } from './parts.ts'
import { sealed, withFields } from './shape.ts'

/** How a run came to its end: seen idle on the wire, or one of the driver's reasons. */
interface Ending {
  readonly by: SettleEvent['by'] | 'idle'
  readonly reason?: LostReason | undefined
  readonly idle?: boolean | undefined
}

/** Every model step has ended one way or the other, and no compaction is under way. */
export function isFinished(reply: Reply): boolean {
  return reply.compaction?.state !== 'running' && reply.messages.every(hasEnded)
}

function hasEnded(message: Message): boolean {
  return message.completedAt !== undefined || message.error !== undefined
}

/** The first that applies. */
export function outcomeOf(reply: Reply, { by, reason, idle }: Ending): Outcome {
  // Also after a time-out: people must learn that the run may go on.
  if (reason === 'not-stopped') return 'lost'
  if (by === 'time-out' || reply.aborting === 'timed-out') return 'timed-out'
  if (by === 'lost') return 'lost'
  if (by === 'end' && idle !== true && !isUntouched(reply)) return 'lost'
  if (reply.aborting || reply.error?.name === 'MessageAbortedError') return 'aborted'
  // Idle while the server still meant to try again: it was told to stop, and says no more of it than that.
  if (reply.retry && by === 'idle' && !isThrough(reply.messages.at(-1))) return 'aborted'
  if (isHollow(reply.messages.at(-1))) return 'aborted'
  if (reply.error) return 'failed'
  if (!isFinished(reply)) return by === 'rest' ? 'lost' : 'aborted'
  return reply.finish === 'tool-calls' ? 'stopped' : 'completed'
}

/** A retry completed the message without an event; a reading over REST told of it. */
function isThrough(message: Message | undefined): boolean {
  return message?.completedAt !== undefined && message.finish !== undefined && message.finish !== 'tool-calls'
}

/** A step that ended without a reason, an error or a word: it was stopped before the model could answer. */
function isHollow(message: Message | undefined): boolean {
  if (message?.completedAt === undefined || message.finish !== undefined || message.error !== undefined) return false
  return message.parts.every((part) => part.type === 'step-start')
}

/** Nothing ever ran for it. */
function isUntouched(reply: Reply): boolean {
  return reply.phase === 'waiting' && reply.messages.length === 0 && reply.children.length === 0
}

/** The end, in this order: open parts close, children end, asks are withdrawn, the phase changes, `replySettled`. */
export function settle(
  reply: Reply,
  ending: Ending & { readonly at: number },
  reduce: (reply: Reply, event: SettleEvent) => { readonly reply: Reply; readonly changes: readonly Change[] },
  changes: Change[],
): Reply {
  const outcome = outcomeOf(reply, ending)
  let next = sealParts(reply, changes)
  for (const [place, child] of next.children.entries()) {
    if (child.background || child.reply.phase === 'settled') continue
    const { by, reason, idle, at } = ending
    const event = {
      type: 'settle',
      sessionID: child.reply.sessionID,
      at,
      by: by === 'idle' ? 'grace' : by,
      reason,
      idle,
    } as const
    const marked = reply.aborting ? withFields(child.reply, { aborting: reply.aborting }) : child.reply
    next = adoptChild(next, place, reduce(marked, event), changes)
  }
  const background = new Set(
    next.children.filter((child) => child.background).flatMap((child) => sessionsOf(child.reply)),
  )
  next = withdraw(next, ending.at, (ask) => !background.has(ask.sessionID), changes)
  if (next.stalled) changes.push({ type: 'stalledChanged', stalled: false })
  changes.push({ type: 'phaseChanged', phase: 'settled', before: reply.phase }, { type: 'replySettled', outcome })
  const lostReason = outcome === 'lost' ? (ending.reason ?? 'end-not-seen') : undefined
  return withFields(next, {
    phase: 'settled',
    outcome,
    lostReason,
    settledAt: ending.at,
    retry: undefined,
    stalled: false,
  })
}

function sessionsOf(reply: Reply): string[] {
  return [reply.sessionID, ...reply.children.flatMap((child) => sessionsOf(child.reply))]
}

/** Every open part closes. */
export function sealParts(reply: Reply, changes: Change[]): Reply {
  let next = reply
  for (const [at, message] of reply.messages.entries()) {
    const closed = withOpenChanged(message, (part, place) => {
      const one = sealed(part)
      changes.push({ type: 'partFinalized', part: one, index: indexOf(reply.messages, at, place) })
      return one
    })
    if (closed !== message) next = withMessageAt(next, at, closed)
  }
  return next
}
