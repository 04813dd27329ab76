import { undefinedIfGone } from '../error.ts'
import type { SnapshotEvent } from '../event.ts'
import { childSessionOf, findReply } from '../reduce/child.ts'
import type { Reply } from '../reply.ts'
import type { SessionRef } from '../session-ref.ts'
import type { Reach, Reading, SessionInfo } from '../source/port.ts'
import { lastRunStart, runStarts } from '../track/run-boundaries.ts'
import { maxSessionDepth } from '../track/state.ts'
import type { Drive } from './drive.ts'

type ReadDrive = Pick<Drive, 'source' | 'clock' | 'engine'>

export interface ReadRequest extends SessionRef {
  /** The run as known so far. Its open children are read too. */
  readonly reply?: Reply | undefined
  readonly gap: boolean
  /** Also reads back to this message, including the sub-agents since its run. */
  readonly backTo?: string | undefined
  /** See `SnapshotEvent`. */
  readonly since?: number | undefined
  /** Several requests may share one. Default: a new one. */
  readonly reading?: Reading | undefined
  /** Whether events are held back from the beginning of the reading and applied after it. */
  readonly complete?: boolean | undefined
}

interface Visit {
  readonly reading: Reading
  /** The ids of all sessions read so far. */
  readonly seen: Set<string>
  /**
   * For a sub-agent, the time of the parent's first message that was read, by the server's clock. Absent if all were
   * read.
   */
  readonly from?: number | undefined
  /** The level of this session, 1 for a root. */
  readonly depth: number
}

/**
 * Reads a session as one snapshot, together with its descendants that are busy, are open in our state, or belong to its
 * run and were not read yet. Leaves out those that are deleted meanwhile, or deeper than `maxSessionDepth`. Rejects
 * with a `ReplyError`, with `gone` if the server doesn't know the session.
 */
export async function readSnapshot(drive: ReadDrive, request: ReadRequest): Promise<SnapshotEvent> {
  const { reading = drive.source.startReading() } = request
  return await readTree(drive, request, { reading, seen: new Set(), depth: 1 })
}

/**
 * Reads one session and those of its descendants that `readSnapshot` includes. Adds each session to `visit.seen`.
 * Rejects if this session can't be read, or a descendant for another reason than `gone`.
 */
async function readTree(drive: ReadDrive, request: ReadRequest, visit: Visit): Promise<SnapshotEvent> {
  const { source, clock } = drive
  const { reading, seen, depth } = visit
  const { sessionID, reply, gap, since, complete = false } = request
  const readAt = clock.now()
  seen.add(sessionID)
  const reach = depth === 1 ? reachOf(drive, request) : reachBelow(request, visit)
  const { info, messages, isWhole, isSound, working, asks, todos, children } = await reading.session(request, reach)
  const { directory = request.directory } = info
  const statuses = await reading.working(directory)
  const at = clock.now()
  const recentMessages = runsSince(messages, visit.from)
  const isPartial = !isWhole || recentMessages.length < messages.length
  const runMessages =
    depth === 1
      ? messagesFromRunOf(recentMessages, request.backTo)
      : recentMessages.slice(Math.max(0, lastRunStart(recentMessages)))
  const runStartedAt = runMessages[0]?.head.createdAt ?? Number.POSITIVE_INFINITY
  const linked = new Set([
    ...runMessages.flatMap(({ parts }) => parts.flatMap((part) => childSessionOf(part) ?? [])),
    // A call doesn't name its session yet while it is being made, or if it was aborted.
    ...children.flatMap(({ sessionID: id, createdAt = -1 }) => (createdAt >= runStartedAt ? [id] : [])),
  ])
  const isAtWork = (id: string): boolean => statuses.has(id) || isOpenIn(reply, id)
  // Reads a finished sub-agent of this run once, so that nothing is missing, and again after each gap: its output
  // before its call named it may have been left out.
  const isKnown = (id: string): boolean => reply !== undefined && findReply(reply, id) !== undefined
  const isWanted = (id: string): boolean =>
    isAtWork(id) || (linked.has(id) && (!isKnown(id) || (complete && reply?.phase !== 'settled')))
  const placed = new Set([...seen, ...children.map((child) => child.sessionID)])
  // A running session that is not in the tree yet may be below any child.
  const hasUnplacedWork = [...statuses.keys()].some((id) => !placed.has(id))
  const snapshots: SnapshotEvent[] = []
  // Deeper sessions don't belong to this tree. They have replies of their own.
  for (const { sessionID: id, directory: childDirectory = directory } of depth < maxSessionDepth ? children : []) {
    if (seen.has(id)) continue
    const place = { sessionID: id, directory: childDirectory }
    if (isWanted(id) || (hasUnplacedWork && (await hasWorkBelow(place)))) {
      const below = { ...place, reply, gap, complete }
      const from = isPartial ? recentMessages[0]?.head.createdAt : undefined
      const child = await readTree(drive, below, { reading, seen, from, depth: depth + 1 }).catch(undefinedIfGone)
      if (child) snapshots.push(child)
    }
  }
  return {
    type: 'snapshot',
    at,
    sessionID,
    session: sessionFields(info),
    messages: recentMessages,
    ...(isPartial && { partial: true as const }),
    status: working?.status ?? 'idle',
    ...(working?.retry && { retry: working.retry }),
    asks,
    todos,
    children: snapshots,
    gap,
    since,
    readAt,
    complete: complete && isSound,
  }

  /**
   * Lists the session's children over REST. Resolves with whether one is running or open here, for example a background
   * sub-agent of an idle child.
   */
  async function hasWorkBelow(place: SessionRef): Promise<boolean> {
    return (await source.children(place)).some((child) => isAtWork(child.sessionID))
  }
}

/** The fields of a session that a snapshot and a `session` event carry. */
export function sessionFields(info: SessionInfo): SnapshotEvent['session'] {
  const { directory, parentID, title, createdAt, revertedTo } = info
  return { directory, parentID, title, createdAt, revertedTo }
}

/**
 * How far back to read: to `since`, and to the first message of the request's reply. For a complete reading to that of
 * all retained replies, because it removes what it lacks. Also to `backTo`, and to the prompts of replies without
 * messages.
 */
function reachOf({ engine }: ReadDrive, request: ReadRequest): Reach {
  const { sessionID, reply, since, complete, backTo } = request
  const replies = complete ? engine.retainedReplies(sessionID) : reply ? [reply] : []
  const times = replies.flatMap(({ messages: [first] }) => (first ? [first.createdAt ?? 0] : []))
  return {
    since: Math.min(since ?? Number.POSITIVE_INFINITY, ...times),
    messageIDs: [
      ...replies.flatMap(({ messages, promptIDs }) => (messages.length === 0 ? promptIDs : [])),
      ...(backTo === undefined ? [] : [backTo]),
    ],
  }
}

/**
 * The messages from this message's run on. The newest run without an id, or if the message isn't there. All if there is
 * no run.
 */
function messagesFromRunOf(
  messages: SnapshotEvent['messages'],
  messageID: string | undefined,
): SnapshotEvent['messages'] {
  const messageIndex = messages.findIndex(({ head }) => head.id === messageID)
  const start =
    messageIndex === -1 ? lastRunStart(messages) : runStarts(messages).findLast((each) => each <= messageIndex)
  return messages.slice(Math.max(0, start ?? 0))
}

/**
 * How far back to read a sub-agent: to the parent's first message that was read, or to the first known message of the
 * sub-agent if that is older. Its session may contain a run for each of several calls, and only the runs of the calls
 * that were read are needed.
 */
function reachBelow({ sessionID, reply }: ReadRequest, { from = 0 }: Visit): Reach {
  const [first] = (reply && findReply(reply, sessionID)?.messages) ?? []
  return { since: Math.min(from, first?.createdAt ?? from), messageIDs: [] }
}

/**
 * The messages from that time on, but at least the last run. All without a time. A message without a time counts as new
 * enough.
 */
function runsSince(messages: SnapshotEvent['messages'], since: number | undefined): SnapshotEvent['messages'] {
  if (since === undefined) return messages
  const first = messages.findIndex(({ head }) => (head.createdAt ?? since) >= since)
  return messages.slice(Math.max(0, Math.min(first === -1 ? messages.length : first, lastRunStart(messages))))
}

/** Whether the reply includes the session's reply, not settled. False without a reply. */
function isOpenIn(reply: Reply | undefined, id: string): boolean {
  const known = reply && findReply(reply, id)
  return known !== undefined && known.phase !== 'settled'
}
