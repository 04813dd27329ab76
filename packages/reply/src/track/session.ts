import type { SessionEvent, SessionScopedEvent } from '../event.ts'
import { requeueHeldEvents } from './held-events.ts'
import { reduceReply } from './open-run.ts'
import { type Cell, changeCell, type Draft, getCell, pathOf } from './state.ts'

/**
 * Records the session's data, and passes it to the root's reply. Only records it while the path to the root is unknown.
 */
export function placeSession(draft: Draft, event: SessionEvent): void {
  recordSession(draft, event.sessionID, event)
  const path = pathOf(draft, event.sessionID)
  if (path?.[0] !== undefined) reduceReply(draft, path[0], event)
}

/**
 * Records a session's data, and keeps what `data` lacks. The first call decides the parent and makes the session known,
 * which releases all held events whose path to the root is known then. Does nothing if a known session's title and
 * directory stay the same.
 */
export function recordSession(
  draft: Draft,
  id: string,
  data: {
    parentID?: string | undefined
    title?: string | undefined
    directory?: string | undefined
    createdAt?: number | undefined
  },
): void {
  const cell = getCell(draft, id)
  const { title = cell.title, directory = cell.directory, createdAt = cell.createdAt } = data
  const parentID = cell.known ? cell.parentID : data.parentID
  if (cell.known && title === cell.title && directory === cell.directory) return
  changeCell(draft, cell, { known: true, parentID, title, directory, createdAt })
  if (cell.known) return
  for (const waiting of draft.state.waiting)
    if (getCell(draft, waiting).known && pathOf(draft, waiting)) requeueHeldEvents(draft, waiting, () => true)
}

/**
 * Whether the session is from before we listened and was never read. Its events may then belong to a run that has
 * ended. False if it is unknown when listening began.
 */
export function isUnread({ state }: Draft, { read, run, createdAt = 0 }: Cell): boolean {
  return state.listeningFrom !== undefined && !read && run === 0 && createdAt <= state.listeningFrom
}

/**
 * Records that the session worked on this connection: the run of one that only worked on an earlier connection may have
 * ended unseen. A read over REST is not counted as work on the stream.
 */
export function recordWorkEpoch(draft: Draft, { type, sessionID }: SessionScopedEvent): void {
  const cell = getCell(draft, sessionID)
  const { epoch } = draft.state
  const streamEpoch = type === 'snapshot' ? cell.streamEpoch : epoch
  if (cell.epoch !== epoch || cell.streamEpoch !== streamEpoch) changeCell(draft, cell, { epoch, streamEpoch })
}
