import type { SessionScopedEvent } from '../event.ts'
import type { Whole } from '../reduce/shape.ts'
import type { Step } from '../reduce.ts'
import type { Reply, Todo } from '../reply.ts'
import { type Cells, cellOf, emptyCells, withCell } from './cells.ts'
import type { MessageRoles } from './roles.ts'

/** What is known of all sessions of one server. A value: `track` gives the next one and leaves this as it is. */
export interface TrackState {
  readonly cells: Cells<Cell>
  /** Sessions with held events, the longest waiting first. */
  readonly waiting: readonly string[]
  /** An estimate of what all held events occupy, in UTF-16 units. */
  readonly heldUnits: number
  /** Roots whose newest reply has settled, the oldest first: the next to be forgotten. */
  readonly settled: readonly string[]
  /** Counts the connections: what was last heard of before this one may be over. */
  readonly epoch: number
  /** What the server had when we began to listen, by the time of its newest session. */
  readonly listeningFrom?: number | undefined
  /** The next count of cells at which those of quiet sessions are forgotten. */
  readonly sweepAt: number
  readonly limits: TrackLimits
}

export interface TrackLimits {
  /** How many settled replies are kept for late news; the oldest go first, with all that is known of their sessions. Default 1,000. */
  readonly keepSettled: number
  /** The most that events may occupy that wait for the message or session they belong to, in UTF-16 units. Default 16,777,216. */
  readonly maxHeld: number
  /** About how many sessions without a reply are remembered; beyond it they are forgotten until they are heard of again. Default 10,000. */
  readonly maxQuiet: number
}

/** One session. */
export interface Cell {
  readonly id: string
  /** Whether its parent, or that it has none, is known. Until then its events are held. */
  readonly known: boolean
  readonly parentID?: string | undefined
  readonly title?: string | undefined
  readonly directory?: string | undefined
  readonly createdAt?: number | undefined
  /** It was read over REST: its history is known. */
  readonly read?: true | undefined
  /** Messages older than this one were never read. Events about them are ignored. */
  readonly readFrom?: ReadFrom | undefined
  /** It was deleted: nothing that is heard of it later opens a reply. */
  readonly removed?: true | undefined
  readonly todos: readonly Todo[]
  /** When the stream last told of the todos, and of the status, in ms since the epoch by our clock. */
  readonly todosAt?: number | undefined
  readonly statusAt?: number | undefined
  /** Its run has come to rest: so the stream said, or so REST showed it alone. */
  readonly idle?: Idle | undefined
  /** Its run was ended by looking, not by the stream, which may still tell the last of it: a busy that comes alone opens nothing. */
  readonly trailing: boolean
  /** Counts the session's runs. */
  readonly run: number
  /** Whose each message is, and of which run. */
  readonly roles: MessageRoles
  readonly held: readonly SessionScopedEvent[]
  /** The connection on which its work was last heard of. */
  readonly epoch: number
  /** Of a root: its newest reply, open or settled. A descendant's is within its root's. */
  readonly reply?: Reply | undefined
  /** Of a root: the replies before, newest last, for late news of them. */
  readonly past: readonly PastReply[]
}

export interface ReadFrom {
  readonly messageID: string
  readonly createdAt?: number | undefined
}

export type Idle = 'heard' | 'read'

export interface PastReply {
  readonly run: number
  readonly reply: Reply
}

/** A step of one reply. `run` counts the root session's replies: with `reply.sessionID` it names this one. */
export interface TrackedStep extends Step {
  readonly run: number
}

/** What one event led to. */
export interface Tracked {
  readonly state: TrackState
  /** One for each reply that changed, in order; mostly one, none for an event that was held or said nothing new. */
  readonly steps: readonly TrackedStep[]
  /** How many held events had to be given up for want of room. */
  readonly dropped: number
}

/** The working copy of one `track` call. */
export interface Draft {
  state: TrackState
  readonly steps: TrackedStep[]
  /** What is to be placed after the event itself. */
  readonly queue: SessionScopedEvent[]
  dropped: number
}

export function draftOf(state: TrackState): Draft {
  return { state, steps: [], queue: [], dropped: 0 }
}

export function emptyTrack(limits: Partial<TrackLimits> = {}): TrackState {
  const { keepSettled = 1000, maxHeld = 16 * 1024 * 1024, maxQuiet = 10_000 } = limits
  return {
    cells: emptyCells(),
    waiting: [],
    heldUnits: 0,
    settled: [],
    epoch: 0,
    listeningFrom: undefined,
    sweepAt: maxQuiet,
    limits: { keepSettled, maxHeld, maxQuiet },
  }
}

export function emptyCell(id: string): Cell {
  return {
    id,
    known: false,
    parentID: undefined,
    title: undefined,
    directory: undefined,
    createdAt: undefined,
    read: undefined,
    readFrom: undefined,
    removed: undefined,
    todos: [],
    todosAt: undefined,
    statusAt: undefined,
    idle: undefined,
    trailing: false,
    run: 0,
    roles: [],
    held: [],
    epoch: 0,
    reply: undefined,
    past: [],
  } satisfies Whole<Cell>
}

export function getCell(draft: Draft, id: string): Cell {
  return cellOf(draft.state.cells, id) ?? emptyCell(id)
}

export function putCell(draft: Draft, cell: Cell): void {
  draft.state = withCells(draft.state, withCell(draft.state.cells, cell))
}

export function changeCell(draft: Draft, cell: Cell, fields: Partial<Cell>): void {
  putCell(draft, Object.assign(withReply(cell, cell.reply), fields))
}

export function changeState(draft: Draft, fields: Partial<TrackState>): void {
  draft.state = Object.assign(withCells(draft.state, draft.state.cells), fields)
}

/** A literal, as is `withReply`: these two are made for every event; see `reduce/shape.ts`. */
export function withCells(state: TrackState, cells: Cells<Cell>): TrackState {
  const { waiting, heldUnits, settled, epoch, listeningFrom, sweepAt, limits } = state
  return { cells, waiting, heldUnits, settled, epoch, listeningFrom, sweepAt, limits }
}

export function withReply(cell: Cell, reply: Cell['reply']): Cell {
  return {
    id: cell.id,
    known: cell.known,
    parentID: cell.parentID,
    title: cell.title,
    directory: cell.directory,
    createdAt: cell.createdAt,
    read: cell.read,
    readFrom: cell.readFrom,
    removed: cell.removed,
    todos: cell.todos,
    todosAt: cell.todosAt,
    statusAt: cell.statusAt,
    idle: cell.idle,
    trailing: cell.trailing,
    run: cell.run,
    roles: cell.roles,
    held: cell.held,
    epoch: cell.epoch,
    reply,
    past: cell.past,
  } satisfies Whole<Cell>
}

/** So many sessions one below the other are one tree. What a reply does costs more the deeper its tree is; nobody needs ten. */
export const maxDepth = 64

/**
 * The sessions from the root down to this one. Undefined while a link is unknown. Parents that run in a circle, or up
 * for more than `maxDepth`, have no root; then the session is taken for its own.
 */
export function pathOf(draft: Draft, id: string): readonly string[] | undefined {
  const own = cellOf(draft.state.cells, id)
  if (own?.known && own.parentID === undefined) return [id]
  const path: string[] = []
  let next: string | undefined = id
  while (next !== undefined) {
    if (path.length === maxDepth || path.includes(next)) return [id]
    const cell: Cell | undefined = cellOf(draft.state.cells, next)
    if (!cell?.known) return undefined
    path.unshift(next)
    next = cell.parentID
  }
  return path
}
