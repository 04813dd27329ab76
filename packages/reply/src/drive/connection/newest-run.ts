import type { ReplyEvent, SnapshotEvent } from '../../event.ts'
import { findReply } from '../../reduce/child.ts'
import type { Reply } from '../../reply.ts'
import { isRunActive } from '../../track/current-run.ts'
import { lastRunStart, runStarts, withoutUndecided } from '../../track/run-boundaries.ts'
import { emptyTrack } from '../../track/state.ts'
import { retainedReplies, track } from '../../track/track.ts'

/**
 * Makes the reply of a session's newest run from one read, as if its events had arrived at the server's times. It is
 * settled if the session is idle. Undefined if the session has no run. Ignores reverted messages, and in an idle
 * session prompts without an answer, such as notes.
 */
export function replyOfRead(read: SnapshotEvent): Reply | undefined {
  return repliesOfRun({ ...read, messages: messagesOfNewestRun(read) }).at(-1)
}

/**
 * Makes the reply that includes a prompt from a read that goes back to it. Undefined if the read lacks the prompt, or
 * if its run has ended without an answer to it. If later runs followed, its run has ended, whatever the session does
 * now. `namesNewestPrompt` as in `Capabilities`.
 */
export function replyOfPrompt(read: SnapshotEvent, messageID: string, namesNewestPrompt = false): Reply | undefined {
  if (!read.messages.some(({ head }) => head.id === messageID)) return undefined
  const { messages, status, nextAt } = runOfPrompt(read, messageID)
  if (status === 'idle' && !isAnswered(messages, messageID, namesNewestPrompt)) return undefined
  const children = nextAt === undefined ? read.children : childrenAsOf(read.children, nextAt)
  const asks = status === 'idle' ? [] : read.asks
  return repliesOfRun({ ...read, messages, status, asks, children }).findLast(({ promptIDs }) =>
    promptIDs.includes(messageID),
  )
}

/**
 * Whether a step of a run answers the prompt: one after it, unless steps name the newest prompt that their model got, and
 * this one names an earlier prompt. OpenCode 1.1.65 may store a prompt while a step begins, which then doesn't get it.
 */
function isAnswered(messages: SnapshotEvent['messages'], messageID: string, namesNewestPrompt: boolean): boolean {
  const promptIndex = messages.findIndex(({ head }) => head.id === messageID)
  const createdAt = messages[promptIndex]?.head.createdAt
  return messages.some(({ head: { role, parentID } }, index) => {
    if (role !== 'assistant') return false
    const parentIndex = messages.findIndex(({ head }) => head.id === parentID)
    if (!namesNewestPrompt || parentIndex === -1) return index > promptIndex
    // A prompt that was posted again has a new time, and its old place.
    const parentCreatedAt = messages[parentIndex]?.head.createdAt
    const isNewer = createdAt !== undefined && parentCreatedAt !== undefined && parentCreatedAt > createdAt
    return parentIndex >= promptIndex || isNewer
  })
}

/**
 * Returns the messages of a prompt's run, its status, and when the next run began. A run that another one follows is
 * `idle`. The newest run has the read's status, or `busy` if the session is idle while its sub-agents still run.
 * `nextAt` is undefined for the newest run, and if the server's clock was set back in between.
 */
function runOfPrompt(read: SnapshotEvent, messageID: string) {
  const messages = withoutUndecided(read, (id) => id === messageID)
  const promptIndex = messages.findIndex(({ head }) => head.id === messageID)
  const starts = runStarts(messages)
  const nextIndex = starts.find((start) => start > promptIndex)
  const run = messages.slice(starts.findLast((start) => start <= promptIndex) ?? 0, nextIndex)
  if (nextIndex === undefined)
    return { messages: run, status: isRunActive(read) && read.status === 'idle' ? 'busy' : read.status }
  const begunAt = run[0]?.head.createdAt ?? 0
  const nextAt = messages[nextIndex]?.head.createdAt ?? 0
  // If the server's clock was set back in between, times can't separate the runs.
  return { messages: run, status: 'idle' as const, nextAt: nextAt < begunAt ? undefined : nextAt }
}

/**
 * The reads of sub-agents' sessions as of a time, at which the next run began, at all levels: those created before it,
 * idle, without asks and without later messages. What has no time counts as earlier.
 */
function childrenAsOf(children: readonly SnapshotEvent[], time: number): readonly SnapshotEvent[] {
  return children
    .filter(({ session }) => (session.createdAt ?? 0) < time)
    .map((child) => ({
      ...child,
      messages: child.messages.filter(({ head }) => (head.createdAt ?? 0) < time),
      status: 'idle',
      asks: [],
      children: childrenAsOf(child.children, time),
    }))
}

function isAssistantMessage({ head }: SnapshotEvent['messages'][number]): boolean {
  return head.role === 'assistant'
}

/**
 * The replies that the read's messages make when they are tracked, oldest first. Empty without messages. More than one
 * if the server was restarted between two steps. If the session is idle, the newest is settled with its sub-agents,
 * except for those that still run.
 */
function repliesOfRun(read: SnapshotEvent): readonly Reply[] {
  const { sessionID, status, messages } = read
  if (messages.length === 0) return []
  const times = messages.flatMap(({ head }) => [head.createdAt, head.completedAt].filter((time) => time !== undefined))
  const startedAt = times[0] ?? read.at
  const at = status === 'idle' ? Math.max(startedAt, ...times) : read.at
  const begun: readonly ReplyEvent[] = [
    { type: 'session', sessionID, at: startedAt, ...read.session },
    { type: 'opened', sessionID, at: startedAt },
    { ...read, at },
  ]
  const tracked = begun.reduce((state, event) => track(state, event).state, emptyTrack())
  const open = retainedReplies(tracked, sessionID).at(-1)
  if (!open || status !== 'idle') return retainedReplies(tracked, sessionID)
  const ends = [...openChildIDs(open).filter((id) => !isTreeAtWorkIn(read.children, id)), sessionID]
  const settled = ends.reduce(
    (state, id) => track(state, { type: 'settle', sessionID: id, at, by: 'rest' }).state,
    tracked,
  )
  return retainedReplies(settled, sessionID)
}

/**
 * The messages of the newest run, without reverted ones. If the session is idle, prompts after the last answer don't
 * count. Empty if there is no run.
 */
function messagesOfNewestRun(read: SnapshotEvent): SnapshotEvent['messages'] {
  const kept = unrevertedMessages(read)
  const run = read.status === 'idle' ? answeredMessages({ messages: kept }) : kept
  return run.slice(Math.max(0, lastRunStart(run)))
}

/** The messages up to the last answer. A prompt after that may be a new one. Empty without an answer. */
export function answeredMessages({ messages }: Pick<SnapshotEvent, 'messages'>): SnapshotEvent['messages'] {
  return messages.slice(0, messages.findLastIndex(isAssistantMessage) + 1)
}

/**
 * The messages before the one that the session is reverted to, which the next prompt keeps. All if it isn't reverted,
 * or that message wasn't read.
 */
export function unrevertedMessages({ messages, session }: SnapshotEvent): SnapshotEvent['messages'] {
  const reverted = messages.findIndex(({ head }) => head.id === session.revertedTo)
  return reverted === -1 ? messages : messages.slice(0, reverted)
}

/** The sessions of sub-agents whose replies are open, deepest first. Leaves out those below a settled one. */
export function openChildIDs(reply: Reply): readonly string[] {
  return reply.children.flatMap((child) =>
    child.reply.phase === 'settled' ? [] : [...openChildIDs(child.reply), child.reply.sessionID],
  )
}

/** Whether the reads include the session, at any level, and it or a sub-agent below it is running. */
function isTreeAtWorkIn(reads: readonly SnapshotEvent[], sessionID: string): boolean {
  return reads.some(
    (read) => (read.sessionID === sessionID && isTreeAtWork(read)) || isTreeAtWorkIn(read.children, sessionID),
  )
}

/**
 * The ids of the sub-agents that are open in `reply` but idle, with everything below them, in the reads of its
 * children: their end was missed. Deepest first.
 */
export function idleChildIDs(reply: Reply, reads: readonly SnapshotEvent[]): readonly string[] {
  return reads.flatMap((read) => {
    const below = idleChildIDs(reply, read.children)
    const known = findReply(reply, read.sessionID)
    return known && known.phase !== 'settled' && !isTreeAtWork(read) ? [...below, read.sessionID] : below
  })
}

/** Whether the session or a sub-agent below it is running. */
export function isTreeAtWork(read: SnapshotEvent): boolean {
  return read.status !== 'idle' || read.children.some(isTreeAtWork)
}
