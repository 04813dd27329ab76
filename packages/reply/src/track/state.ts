import type { SessionScopedEvent } from '../event.ts'
import type { Reduction } from '../reduce/reduce.ts'
import type { Whole } from '../reduce/shape.ts'
import type { Reply, Todo } from '../reply.ts'
import { type Cells, cellOf, emptyCells, withCell } from './cells.ts'
import type { SettledReply } from './forget.ts'
import type { MessageRoles } from './roles.ts'

/** The state of all sessions of one server. Immutable: `track` returns the next state. */
export interface TrackState {
  /** All known sessions. Their form may change with each version, so read them with `repliesOf`. */
  readonly cells: Cells<Cell>
  /** Sessions with held events, longest waiting first. */
  readonly waiting: readonly string[]
  /** An estimate of the size of all held events, in UTF-16 units. */
  readonly heldUnits: number
  /** The settled replies that are kept, oldest first. The oldest is dropped next. */
  readonly settled: readonly SettledReply[]
  /** Counts the connections. A run whose last event came on an earlier connection may have ended. */
  readonly epoch: number
  /** Time of the server's newest session when listening began, by its clock. */
  readonly listeningFrom?: number | undefined
  /** The number of cells at which those of quiet sessions are dropped next. */
  readonly sweepAt: number
  /** The limits that `emptyTrack` was given, with the defaults filled in. */
  readonly limits: TrackLimits
}

/** Limits on how much `track` remembers. */
export interface TrackLimits {
  /**
   * How many settled replies are kept for late events. The oldest are dropped first. If it is a session's newest, all
   * data of that session is dropped with it. Default 1,000.
   */
  readonly keepSettled: number
  /** The maximum size of events that wait for their message or session, in UTF-16 units. Default 16,777,216. */
  readonly maxHeld: number
  /**
   * About how many sessions without a reply are remembered. Beyond that they are dropped until their next event.
   * Default 10,000.
   */
  readonly maxQuiet: number
}

/** The known state of one session. */
export interface Cell {
  readonly id: string
  /** Whether it is known if it has a parent, and which. Until then its events are held. */
  readonly known: boolean
  readonly parentID?: string | undefined
  readonly title?: string | undefined
  readonly directory?: string | undefined
  readonly createdAt?: number | undefined
  /** Whether it was read over REST, so that its history is known. */
  readonly read?: true | undefined
  /** Messages older than this one were never read. Events about them are ignored. */
  readonly readFrom?: ReadFrom | undefined
  /** Whether it was deleted. Later events then don't open a reply. */
  readonly removed?: true | undefined
  readonly todos: readonly Todo[]
  /** When the stream last sent the todos and the status, in ms since the epoch by our clock. */
  readonly todosAt?: number | undefined
  readonly statusAt?: number | undefined
  /** Set while the session is idle: according to the stream, or to REST alone. */
  readonly idle?: Idle | undefined
  /**
   * Whether its run was ended by a read over REST, before the stream's last events of it. A lone busy after that opens
   * no run.
   */
  readonly endedByRest: boolean
  /**
   * For a root: whether its newest reply was opened by a sub-agent that went on in the background, and nothing has run
   * in the session itself since. The session's next run then begins another reply, whatever came first.
   */
  readonly onlyContinues: boolean
  /** The number of the session's current run, from 1. 0 before the first. */
  readonly run: number
  /**
   * When its run's prompt was created, in ms since the epoch by the server's clock. Set while the run is only known
   * from a read over REST. The stream may still send the end of the run before it.
   */
  readonly promptedAt?: number | undefined
  /** The role and run of each message. */
  readonly roles: MessageRoles
  readonly held: readonly SessionScopedEvent[]
  /** The connection of its last work event. */
  readonly epoch: number
  /**
   * The connection of its last work event on the stream. Excludes reads over REST: a session that is busy there may
   * have begun its next run.
   */
  readonly streamEpoch: number
  /** For a root: its newest reply, open or settled. A descendant's is inside its root's. */
  readonly reply?: Reply | undefined
  /** For a root: the earlier replies, newest last, for late events. */
  readonly past: readonly PastReply[]
}

/** The oldest message of the first partial read of a session. */
export interface ReadFrom {
  readonly messageID: string
  readonly createdAt?: number | undefined
}

/** How the session's idle status is known: the stream reported it, or it was read over REST. */
export type Idle = 'reported' | 'read'

export interface PastReply {
  readonly run: number
  readonly reply: Reply
}

/**
 * A step of one reply. `run` counts the root session's replies. Together with `reply.sessionID` it identifies this one.
 */
export interface TrackedStep extends Reduction {
  /** The number of its run in the session, from 1. */
  readonly run: number
}

/** The result of one event. */
export interface Tracked {
  /** The state after the event. */
  readonly state: TrackState
  /** One per changed reply, in order. Usually one, and none for an event that was held or changed nothing. */
  readonly steps: readonly TrackedStep[]
  /** How many held events were dropped because their limit was exceeded. */
  readonly dropped: number
}

/** The working copy of one `track` call. */
export interface Draft {
  state: TrackState
  readonly steps: TrackedStep[]
  /** Events to place after the current one. */
  readonly queue: SessionScopedEvent[]
  dropped: number
}

/** A working copy of the state, without steps or queued events. */
export function draftOf(state: TrackState): Draft {
  return { state, steps: [], queue: [], dropped: 0 }
}

/** The state before the first event. A limit that isn't given has its default. */
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

/** The cell of a session that nothing is known of. */
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
    endedByRest: false,
    onlyContinues: false,
    run: 0,
    promptedAt: undefined,
    roles: [],
    held: [],
    epoch: 0,
    streamEpoch: 0,
    reply: undefined,
    past: [],
  } satisfies Whole<Cell>
}

/** The session's cell. An empty one for an unknown session. */
export function getCell(draft: Draft, id: string): Cell {
  return cellOf(draft.state.cells, id) ?? emptyCell(id)
}

/** Replaces or adds the session's cell in the draft's state. */
export function putCell(draft: Draft, cell: Cell): void {
  draft.state = withCells(draft.state, withCell(draft.state.cells, cell))
}

/** Puts a copy of the cell with these fields into the draft's state. A field that is given as undefined is cleared. */
export function changeCell(draft: Draft, cell: Cell, fields: Partial<Cell>): void {
  putCell(draft, Object.assign(withReply(cell, cell.reply), fields))
}

/** Sets these fields of the draft's state. */
export function changeState(draft: Draft, fields: Partial<TrackState>): void {
  draft.state = Object.assign(withCells(draft.state, draft.state.cells), fields)
}

/**
 * Copies the state with other cells. A literal, as in `withReply`, because both objects are built for every event. See
 * `reduce/shape.ts`.
 */
export function withCells(state: TrackState, cells: Cells<Cell>): TrackState {
  const { waiting, heldUnits, settled, epoch, listeningFrom, sweepAt, limits } = state
  return { cells, waiting, heldUnits, settled, epoch, listeningFrom, sweepAt, limits }
}

/**
 * Returns the same state as one to keep. A state from `track` keeps up to a thousand states after it, because they share
 * a `Map`. This one keeps none. Takes time linear in the number of sessions.
 */
export function detached(state: TrackState): TrackState {
  return withCells(state, state.cells.alone())
}

/** Copies a cell with another reply. */
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
    endedByRest: cell.endedByRest,
    onlyContinues: cell.onlyContinues,
    run: cell.run,
    promptedAt: cell.promptedAt,
    roles: cell.roles,
    held: cell.held,
    epoch: cell.epoch,
    streamEpoch: cell.streamEpoch,
    reply,
    past: cell.past,
  } satisfies Whole<Cell>
}

/**
 * How many levels of sessions form one tree. The cost of a reply rises with the depth, and real trees need far fewer.
 */
export const maxSessionDepth = 64

/**
 * The sessions from the root down to this one. Undefined while a link is unknown. A parent chain that is circular, or
 * longer than `maxSessionDepth`, has no root. The session then counts as its own root.
 */
export function pathOf(draft: Draft, id: string): readonly string[] | undefined {
  const own = cellOf(draft.state.cells, id)
  if (own?.known && own.parentID === undefined) return [id]
  const path: string[] = []
  let next: string | undefined = id
  while (next !== undefined) {
    if (path.length === maxSessionDepth || path.includes(next)) return [id]
    const cell: Cell | undefined = cellOf(draft.state.cells, next)
    if (!cell?.known) return undefined
    path.unshift(next)
    next = cell.parentID
  }
  return path
}
