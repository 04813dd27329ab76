import type { Change } from '../change.ts'
import type { MessageHead } from '../event.ts'
import { same } from '../fields.ts'
import type { Reply, SummaryStep } from '../reply.ts'
import { replaceAt, withFields } from './shape.ts'
import { usageOf } from './usage.ts'

/**
 * Ends the compaction, or adds one that has ended if none was running. Clears the reply's error, which led to it, and
 * the size of the context, which is unknown until the next step. Does nothing if the compaction is done.
 */
export function applyCompacted(reply: Reply, at: number, changes: Change[]): Reply {
  if (reply.compaction?.state === 'done') return reply
  const running = reply.compaction ?? { auto: false, afterMessageID: reply.messages.at(-1)?.id, startedAt: at }
  const compaction = { ...running, state: 'done', endedAt: at } as const
  changes.push({ type: 'compactionChanged', compaction })
  const next = withFields(reply, { compaction, error: undefined })
  if (reply.usage.contextTokens === undefined) return next
  const usage = { ...reply.usage, contextTokens: undefined }
  changes.push({ type: 'usageChanged', usage })
  return withFields(next, { usage })
}

/**
 * Removes the running compaction whose part was removed: it failed and replaced nothing. Returns the same reply for any
 * other part. Reports no change.
 */
export function withoutCompaction(reply: Reply, partID: string): Reply {
  const { compaction } = reply
  const isFailed = compaction?.state === 'running' && compaction.partID === partID
  return isFailed ? withFields(reply, { compaction: undefined }) : reply
}

/**
 * Whether a message ends a running compaction: its summary is complete without an error, or the next step has begun
 * (`isNew`). The server confirms it with another event, which can be missed.
 */
export function endsCompaction(reply: Reply, { summary, completedAt, error }: MessageHead, isNew: boolean): boolean {
  const isSummed = summary && completedAt !== undefined && error === undefined
  return (isSummed || isNew) && reply.compaction?.state === 'running'
}

/**
 * Returns the model call that wrote a summary, as a step for the usage. Undefined until it has ended, because its
 * tokens are zeros before, and without tokens. The cost is 0 if unknown.
 */
export function summaryStepOf({ id, finish, tokens, cost = 0 }: MessageHead): SummaryStep | undefined {
  return finish === undefined || tokens === undefined ? undefined : { messageID: id, tokens, cost }
}

/**
 * Counts the call that wrote a summary, and reports the step and the usage. A summary that is reported again replaces
 * the earlier report, or does nothing if it is the same.
 */
export function applySummary(reply: Reply, step: SummaryStep, changes: Change[]): Reply {
  const known = reply.summaries ?? []
  const at = known.findIndex(({ messageID }) => messageID === step.messageID)
  if (at !== -1 && same(known[at], step)) return reply
  const next = withFields(reply, { summaries: at === -1 ? [...known, step] : replaceAt(known, at, step) })
  // The context is not this call's: it shrinks when the compaction is done.
  const usage = { ...usageOf(next), contextTokens: reply.usage.contextTokens }
  const { messageID, cost, tokens } = step
  changes.push({ type: 'stepFinished', messageID, cost, tokens, summary: true })
  changes.push({ type: 'usageChanged', usage })
  return withFields(next, { usage })
}
