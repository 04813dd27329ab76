import { toReadPermissions, toReadQuestions, toReadSession, toReadStatuses, toReadTodos } from '../../decode/rest.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { SnapshotEvent } from '../../event.ts'
import type { Place } from '../../place.ts'
import { findReply } from '../../reduce/child.ts'
import type { Reply } from '../../reply.ts'
import { sessionOf } from '../../track/earlier-runs.ts'
import { runStart } from '../../track/run-boundaries.ts'
import { maxDepth } from '../../track/state.ts'
import type { Clock } from '../clock.ts'
import type { Rest } from '../transport/rest.ts'
import type { Places } from './places.ts'
import { type Reach, readHistory } from './read-history.ts'
import type { Lists } from './shared-lists.ts'

export interface ReadOptions {
  readonly rest: Rest
  readonly places: Pick<Places, 'session'>
  readonly clock: Clock
  readonly onError: OnError
  /** The retained replies of a root session, open or settled. */
  readonly retained: (sessionID: string) => readonly Reply[]
}

export interface ReadRequest extends Place {
  /** What is known of the run so far; its open children are read too. */
  readonly reply?: Reply | undefined
  readonly gap: boolean
  /** See `SnapshotEvent`. */
  readonly since?: number | undefined
  /** Lists shared by several readings. Default: read anew. */
  readonly lists?: Lists | undefined
  /** Whether events since the reading began are held back and applied after it. */
  readonly complete?: boolean | undefined
}

/** Reads a session. Rejects with a `ReplyError`, see `readSnapshot`. */
export type ReadSession = (request: ReadRequest) => Promise<SnapshotEvent>

/**
 * Reads a session and its descendants that are busy, asking, or open in our state, as one snapshot. Rejects with a
 * `ReplyError`, of type `gone` if the server doesn't know the session.
 */
export async function readSnapshot(options: ReadOptions, request: ReadRequest): Promise<SnapshotEvent> {
  return await readTree(options, request, { seen: new Set(), depth: 1 })
}

interface Visit {
  /** Ids of all sessions read so far. */
  readonly seen: Set<string>
  /** For a sub-agent: time of the parent's first read message, by the server's clock. Absent if all were read. */
  readonly from?: number | undefined
  /** How many levels deep this session is; a root is 1. */
  readonly depth: number
}

async function readTree(options: ReadOptions, request: ReadRequest, visit: Visit): Promise<SnapshotEvent> {
  const { rest, places, clock, onError } = options
  const { seen, depth } = visit
  const { sessionID, reply, gap, since, lists = rest, complete = false } = request
  let isWhole = true
  const note: OnError = (error) => {
    isWhole = false
    onError(error)
  }
  const readAt = clock.now()
  seen.add(sessionID)
  const session = toReadSession(await places.session(request))
  if (!session)
    throw new ReplyError(
      'malformed',
      `The server's response for session ${JSON.stringify(sessionID)} is not a session.`,
    )
  const { id: _, ...known } = session
  const { directory = request.directory } = known
  const place = { sessionID, directory }
  // Statuses first: everything read after them is at least as new, so a session that they call idle is read complete.
  const statuses = toReadStatuses(await lists.status(directory))
  const [history, todos, childList, questions, permissions] = await Promise.all([
    readHistory({ rest, onError: note }, place, depth === 1 ? reachOf(options, request) : reachBelow(request, visit)),
    rest.todos(place).catch(unlessGone),
    rest.children(place).catch(unlessGone),
    lists.questions(directory),
    lists.permissions(directory),
  ])
  const at = clock.now()
  const asks = [...toReadQuestions(questions, { at, directory }), ...toReadPermissions(permissions, { at, directory })]
  const childSessions = (Array.isArray(childList) ? childList : []).flatMap((child) => toReadSession(child) ?? [])
  const read = runsSince(history.messages, visit.from)
  const isPartial = !history.isWhole || read.length < history.messages.length
  const run = read.slice(Math.max(0, runStart(read)))
  const runStartedAt = run[0]?.head.createdAt ?? Number.POSITIVE_INFINITY
  const linked = new Set([
    ...run.flatMap(({ parts }) => parts.flatMap((part) => sessionOf(part) ?? [])),
    // The call may not name the session: it is still being made, or was aborted.
    ...childSessions.flatMap(({ id, createdAt = -1 }) => (createdAt >= runStartedAt ? [id] : [])),
  ])
  const isAtWork = (id: string): boolean => statuses.has(id) || isOpenIn(reply, id)
  // Reads a finished sub-agent of this run once, so that nothing of the run is missing.
  const isWanted = (id: string): boolean => isAtWork(id) || (linked.has(id) && !(reply && findReply(reply, id)))
  const placed = new Set([...seen, ...childSessions.map(({ id }) => id)])
  const isSearching = [...statuses.keys()].some((id) => !placed.has(id))
  const children: SnapshotEvent[] = []
  // Deeper sessions don't belong to this tree; they report for themselves.
  for (const { id, directory: at = directory } of depth < maxDepth ? childSessions : []) {
    if (seen.has(id)) continue
    const childPlace = { sessionID: id, directory: at }
    if (isWanted(id) || (isSearching && (await hasWorkBelow(childPlace)))) {
      const below = { ...childPlace, reply, gap, lists, complete }
      const from = isPartial ? read[0]?.head.createdAt : undefined
      const child = await readTree(options, below, { seen, from, depth: depth + 1 }).catch(unlessGone)
      if (child) children.push(child)
    }
  }
  const status = statuses.get(sessionID)
  return {
    type: 'snapshot',
    at,
    sessionID,
    session: known,
    messages: read,
    ...(isPartial && { partial: true as const }),
    status: status?.status ?? 'idle',
    ...(status?.retry && { retry: status.retry }),
    // An aborted run leaves its asks behind, on servers up to 1.2 forever; so an idle session has no pending asks.
    asks: status ? asks.filter((ask) => ask.sessionID === sessionID) : [],
    todos: toReadTodos(todos),
    children,
    gap,
    since,
    readAt,
    complete: complete && isWhole,
  }

  /**
   * An idle child may have a busy one of its own, such as a background sub-agent. Checked only while some busy session
   * isn't placed yet.
   */
  async function hasWorkBelow(childPlace: Place): Promise<boolean> {
    const below = await rest.children(childPlace)
    return (Array.isArray(below) ? below : []).some((child) => {
      const known = toReadSession(child)
      return known !== undefined && isAtWork(known.id)
    })
  }
}

/**
 * How far back to read: the current run, as far as known, and everything since. A complete reading removes what it
 * lacks, so it must cover all retained replies.
 */
function reachOf({ retained }: ReadOptions, { sessionID, reply, since, complete }: ReadRequest): Reach {
  const replies = complete ? retained(sessionID) : reply ? [reply] : []
  const times = replies.flatMap(({ messages: [first] }) => (first ? [first.createdAt ?? 0] : []))
  return {
    since: Math.min(since ?? Number.POSITIVE_INFINITY, ...times),
    messageIDs: replies.flatMap(({ messages, promptIDs }) => (messages.length === 0 ? promptIDs : [])),
  }
}

/** A sub-agent's session may contain one run for each of several calls; only the runs of the read calls are wanted. */
function reachBelow({ sessionID, reply }: ReadRequest, { from = 0 }: Visit): Reach {
  const [first] = (reply && findReply(reply, sessionID)?.messages) ?? []
  return { since: Math.min(from, first?.createdAt ?? from), messageIDs: [] }
}

/** Drops the runs of calls earlier than those that were read; always keeps the last run. */
function runsSince(messages: SnapshotEvent['messages'], from: number | undefined): SnapshotEvent['messages'] {
  if (from === undefined) return messages
  const first = messages.findIndex(({ head }) => (head.createdAt ?? from) >= from)
  return messages.slice(Math.max(0, Math.min(first === -1 ? messages.length : first, runStart(messages))))
}

/** Leaves out sessions that were deleted in the meantime; only the requested session being gone is an error. */
function unlessGone(error: unknown): undefined {
  if (!(error instanceof ReplyError) || error.type !== 'gone') throw error
}

function isOpenIn(reply: Reply | undefined, id: string): boolean {
  const known = reply && findReply(reply, id)
  return known !== undefined && known.phase !== 'settled'
}
