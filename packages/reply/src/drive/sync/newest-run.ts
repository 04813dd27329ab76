import type { ReplyEvent, SnapshotEvent } from '../../event.ts'
import { findReply } from '../../reduce/child.ts'
import type { Reply } from '../../reply.ts'
import { runStart } from '../../track/run-boundaries.ts'
import { emptyTrack } from '../../track/state.ts'
import { repliesOf, track } from '../../track.ts'

/**
 * Makes the reply of a session's newest run from one read, as if its events had been received when the server says they
 * happened. Undefined if the session has no run yet.
 */
export function replyOfRead(read: SnapshotEvent): Reply | undefined {
  const { sessionID, status } = read
  const messages = read.messages.slice(Math.max(0, runStart(read.messages)))
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
  const ends = [...endedBelow(open, read.children), sessionID]
  const settled = ends.reduce(
    (state, id) => track(state, { type: 'settle', sessionID: id, at, by: 'rest' }).state,
    tracked,
  )
  return repliesOf(settled)[0]
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
