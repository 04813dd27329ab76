import type { Change } from '../change.ts'
import type { MessageHead } from '../event.ts'
import type { Reply } from '../reply.ts'
import { withFields } from './shape.ts'

/** Ends a compaction and clears the error that led to it, if any. */
export function applyCompacted(reply: Reply, at: number, changes: Change[]): Reply {
  if (reply.compaction?.state === 'done') return reply
  const running = reply.compaction ?? { auto: false, startedAt: at }
  const compaction = { ...running, state: 'done', endedAt: at } as const
  changes.push({ type: 'compactionChanged', compaction })
  return withFields(reply, { compaction, error: undefined })
}

/** A compaction that failed replaced nothing. */
export function withoutCompaction(reply: Reply, partID: string): Reply {
  const { compaction } = reply
  const isFailed = compaction?.state === 'running' && compaction.partID === partID
  return isFailed ? withFields(reply, { compaction: undefined }) : reply
}

/**
 * The summary is complete, or the next step has begun. The server confirms it with another event, which can be missed.
 */
export function endsCompaction(reply: Reply, { summary, completedAt, error }: MessageHead, isNew: boolean): boolean {
  const isSummed = summary && completedAt !== undefined && error === undefined
  return (isSummed || isNew) && reply.compaction?.state === 'running'
}
