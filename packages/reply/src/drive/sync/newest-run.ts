import type { ReplyEvent, SnapshotEvent } from '../../event.ts'
import { findReply } from '../../reduce/child.ts'
import type { Reply } from '../../reply.ts'
import { runStart } from '../../track/run-boundaries.ts'
import { emptyTrack } from '../../track/state.ts'
import { repliesOf, track } from '../../track.ts'

/**
 * Makes the reply of a session's newest run from one read, as if its events had been received when the server says they
 * happened. Undefined if the session has no run. Prompts for which nothing ran, such as notes, are no run; nor is what
 * was reverted.
 */
export function replyOfRead(read: SnapshotEvent): Reply | undefined {
  const { sessionID, status } = read
  const messages = newestRun(read)
  if (messages.length === 0) return undefined
  const times = messages.flatMap(({ head }) => [head.createdAt, head.completedAt].filter((time) => time !== undefined))
  const startedAt = times[0] ?? read.at
  const at = status === 'idle' ? Math.max(startedAt, ...times) : read.at
  const begun: readonly ReplyEvent[] = [
    { type: 'session', sessionID, at: startedAt, ...read.session },
    { type: 'opened', sessionID, at: startedAt },
    { ...read, messages, at },
  ]
  const tracked = begun.reduce((state, event) => track(state, event).state, emptyTrack())
  const open = repliesOf(tracked)[0]
  if (!open || status !== 'idle') return open
  const ends = [...openBelow(open).filter((id) => !isAtWorkIn(read.children, id)), sessionID]
  const settled = ends.reduce(
    (state, id) => track(state, { type: 'settle', sessionID: id, at, by: 'rest' }).state,
    tracked,
  )
  return repliesOf(settled)[0]
}

function newestRun({ messages, session, status }: SnapshotEvent): SnapshotEvent['messages'] {
  const reverted = messages.findIndex(({ head }) => head.id === session.revertedTo)
  const kept = reverted === -1 ? messages : messages.slice(0, reverted)
  const answered = kept.findLastIndex(({ head }) => head.role === 'assistant') + 1
  const run = status === 'idle' ? kept.slice(0, answered) : kept
  return run.slice(Math.max(0, runStart(run)))
}

/** The open replies of sub-agents, deepest first. */
export function openBelow(reply: Reply): readonly string[] {
  return reply.children.flatMap((child) =>
    child.reply.phase === 'settled' ? [] : [...openBelow(child.reply), child.reply.sessionID],
  )
}

function isAtWorkIn(reads: readonly SnapshotEvent[], sessionID: string): boolean {
  return reads.some((read) => (read.sessionID === sessionID && isAtWork(read)) || isAtWorkIn(read.children, sessionID))
}

/** The sub-agents that are open here but idle according to the read, deepest first. */
export function endedBelow(reply: Reply, reads: readonly SnapshotEvent[]): readonly string[] {
  return reads.flatMap((read) => {
    const below = endedBelow(reply, read.children)
    const known = findReply(reply, read.sessionID)
    return known && known.phase !== 'settled' && !isAtWork(read) ? [...below, read.sessionID] : below
  })
}

/** Whether the session or a sub-agent below it is at work. */
export function isAtWork(read: SnapshotEvent): boolean {
  return read.status !== 'idle' || read.children.some(isAtWork)
}
