import type { Change } from '../change.ts'
import type { SettleEvent } from '../event.ts'
import type { LostReason, Message, Outcome, Reply } from '../reply.ts'
import { lossTexts } from '../show/ending.ts'
import { withdrawAsks } from './ask.ts'
import { applyChildStep, sessionsIn } from './child.ts'
import { hasMessageEnded } from './message.ts'
import { indexInReply, withMessageAt } from './part.ts'
import { withOpenPartsChanged } from './part-list.ts'
import { sealed, withFields } from './shape.ts'

/** Why a run ends: idle on the stream, or one of the driver's reasons. */
interface SettleCause {
  readonly by: SettleEvent['by'] | 'idle'
  readonly reason?: LostReason | undefined
  readonly idle?: boolean | undefined
  readonly parkedPromptIDs?: readonly string[] | undefined
}

/** Whether every model step has ended, successfully or not, and no compaction is running. True without any step. */
export function isFinished(reply: Reply): boolean {
  return reply.compaction?.state !== 'running' && reply.messages.every(hasMessageEnded)
}

/**
 * Whether only a status arrived for this run, which may be a late one of the run before. The next prompt doesn't end such
 * a run. A reverted run has no messages either, but it keeps its `finish`.
 */
export function isEmptyRun({ promptIDs, messages, children, error, compaction, finish }: Reply): boolean {
  if (error !== undefined || compaction !== undefined || finish !== undefined) return false
  return promptIDs.length === 0 && messages.length === 0 && children.length === 0
}

/**
 * The outcome of a reply that ends now, by the first rule that applies. A run that could not be stopped is `lost`.
 * After that a time-out, a lost connection or the end of a recording decides, then an abort or a last step without
 * output, then an error. An unfinished step is `lost` if only REST showed the end, and otherwise `aborted`. The rest is
 * `stopped` if the last step called tools without a structured value, and otherwise `completed`.
 */
export function outcomeOf(reply: Reply, { by, reason, idle }: SettleCause): Outcome {
  // Takes precedence over a time-out, because users must learn that the run may still be active.
  if (reason === 'not-stopped') return 'lost'
  if (by === 'time-out' || reply.aborting === 'timed-out') return 'timed-out'
  if (by === 'lost') return 'lost'
  if (by === 'end' && idle !== true && !hasNeverRun(reply)) return 'lost'
  if (reply.aborting || reply.error?.name === 'MessageAbortedError') return 'aborted'
  // Idle during a pending retry means that the server was asked to stop. It sends no other event for that.
  if (reply.retry && by === 'idle' && !isCompleted(reply.messages.at(-1))) return 'aborted'
  if (hasNoOutput(reply.messages.at(-1))) return 'aborted'
  if (reply.error) return 'failed'
  if (!isFinished(reply)) return by === 'rest' ? 'lost' : 'aborted'
  // With a structured value, the tool call that returns it ends the run.
  const hasOutput = reply.messages.at(-1)?.output !== undefined
  return reply.finish === 'tool-calls' && !hasOutput ? 'stopped' : 'completed'
}

/** Whether the step has completed and called no more tools. During a retry only REST reports that, not the stream. */
function isCompleted(message: Message | undefined): boolean {
  return message?.completedAt !== undefined && message.finish !== undefined && message.finish !== 'tool-calls'
}

/**
 * Whether a step ended without a finish reason, an error or any output, because it was stopped before the model
 * answered. False without a step.
 */
function hasNoOutput(message: Message | undefined): boolean {
  if (message?.completedAt === undefined || message.finish !== undefined || message.error !== undefined) return false
  return message.parts.every((part) => part.type === 'step-start')
}

/** Whether nothing ever ran for this reply. */
function hasNeverRun(reply: Reply): boolean {
  return reply.phase === 'waiting' && reply.messages.length === 0 && reply.children.length === 0
}

/**
 * Settles a reply. Order: open parts close, children end for the same reason, asks are withdrawn, the phase changes,
 * `replySettled`. Background sub-agents go on, and their asks stay. A lost reply without an error gets one that
 * explains it.
 */
export function settle(
  reply: Reply,
  cause: SettleCause & { readonly at: number },
  reduce: (reply: Reply, event: SettleEvent) => { readonly reply: Reply; readonly changes: readonly Change[] },
  changes: Change[],
): Reply {
  const outcome = outcomeOf(reply, cause)
  let next = sealParts(reply, changes)
  for (const [childIndex, child] of next.children.entries()) {
    if (child.background || child.reply.phase === 'settled') continue
    const { by, reason, idle, at } = cause
    const event = {
      type: 'settle',
      sessionID: child.reply.sessionID,
      at,
      by: by === 'idle' ? 'grace' : by,
      reason,
      idle,
    } as const
    const marked = reply.aborting ? withFields(child.reply, { aborting: reply.aborting }) : child.reply
    next = applyChildStep(next, childIndex, reduce(marked, event), changes)
  }
  const background = new Set(
    next.children.filter((child) => child.background).flatMap((child) => sessionsIn(child.reply)),
  )
  next = withdrawAsks(next, cause.at, (ask) => !background.has(ask.sessionID), changes)
  if (next.stalled) changes.push({ type: 'stalledChanged', stalled: false })
  changes.push({ type: 'phaseChanged', phase: 'settled', before: reply.phase }, { type: 'replySettled', outcome })
  const lostReason = outcome === 'lost' ? (cause.reason ?? 'end-not-seen') : undefined
  return withFields(next, {
    phase: 'settled',
    outcome,
    lostReason,
    // So that programs can print `error` for a lost reply, too.
    error: next.error ?? (lostReason && { name: lostReason, message: lossTexts[lostReason], raw: undefined }),
    parkedPromptIDs: cause.parkedPromptIDs?.length ? cause.parkedPromptIDs : undefined,
    settledAt: cause.at,
    retry: undefined,
    stalled: false,
  })
}

/** Seals every open part and reports each as final. Returns the same reply if none is open. */
export function sealParts(reply: Reply, changes: Change[]): Reply {
  let next = reply
  for (const [messageIndex, message] of reply.messages.entries()) {
    const closed = withOpenPartsChanged(message, (part, partIndex) => {
      const final = sealed(part)
      changes.push({ type: 'partFinalized', part: final, index: indexInReply(reply.messages, messageIndex, partIndex) })
      return final
    })
    if (closed !== message) next = withMessageAt(next, messageIndex, closed)
  }
  return next
}
