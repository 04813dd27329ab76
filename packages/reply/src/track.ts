import type {
  DeltaEvent,
  MessageEvent,
  PartEvent,
  ReplyEvent,
  SessionEvent,
  SessionScopedEvent,
  SettleEvent,
  SnapshotEvent,
} from './event.ts'
import { findReply } from './reduce/child.ts'
import { messageAt } from './reduce/part.ts'
import { isFinished } from './reduce/settle.ts'
import { cellValues } from './track/cells.ts'
import { hold, release } from './track/hold.ts'
import { amendPast, isOpen, open, step } from './track/open.ts'
import { roleOf, runStart } from './track/snapshot.ts'
import {
  type Cell,
  type Draft,
  getCell,
  type MessageRole,
  pathOf,
  putCell,
  type Tracked,
  type TrackState,
} from './track/state.ts'

/** The ids of a session's messages that are remembered, so that late news of an old one open no reply. */
const maxRoles = 5000

/**
 * Which session, which reply: takes the events of a whole server in order, keeps the tree of sessions, holds back what
 * cannot be placed yet, opens replies and hands each event to `reduce`. Pure.
 */
export function track(state: TrackState, event: ReplyEvent): Tracked {
  const draft: Draft = { state, steps: [], dropped: 0 }
  if (event.type === 'connected') draft.state = { ...state, epoch: state.epoch + 1 }
  else if (event.type !== 'heartbeat' && event.type !== 'disposed') place(draft, event)
  return { state: draft.state, steps: draft.steps, dropped: draft.dropped }
}

/** Sessions of which it isn't known whether they are roots: their events wait for a `session` event. */
export function unknownSessions(state: TrackState): readonly string[] {
  if (state.waiting.length === 0) return []
  const draft: Draft = { state, steps: [], dropped: 0 }
  return state.waiting.map((id) => firstUnknown(draft, id)).filter((id) => id !== undefined)
}

/** The roots' newest replies, open or settled. */
export function repliesOf(state: TrackState): readonly NonNullable<Cell['reply']>[] {
  return cellValues(state.cells).flatMap((cell) => (cell.reply ? [cell.reply] : []))
}

/** The session whose parent is missing on the way up; undefined when the way to the root is known. */
function firstUnknown(draft: Draft, id: string): string | undefined {
  const seen = new Set<string>()
  for (let next: string | undefined = id; next !== undefined && !seen.has(next); next = getCell(draft, next).parentID) {
    seen.add(next)
    if (!getCell(draft, next).known) return next
  }
  return undefined
}

function place(draft: Draft, event: SessionScopedEvent): void {
  if (event.type === 'session') return placeSession(draft, event)
  if (event.type === 'opened' || event.type === 'snapshot')
    learn(draft, event.sessionID, event.type === 'snapshot' ? event.session : {})
  const path = pathOf(draft, event.sessionID)
  if (!path) return hold(draft, event)
  placeAt(draft, path, event)
}

function placeAt(draft: Draft, path: readonly string[], event: SessionScopedEvent): void {
  const rootID = path[0] ?? event.sessionID
  if (event.type !== 'message') touch(draft, event.sessionID)
  switch (event.type) {
    case 'delta':
      return placeDelta(draft, rootID, event)
    case 'part':
      return placePart(draft, rootID, event)
    case 'message':
      return placeMessage(draft, path, event)
    case 'snapshot':
      return placeSnapshot(draft, path, event)
    case 'settle':
      return placeSettle(draft, rootID, event)
    case 'opened':
    case 'retry':
    case 'asked':
      open(draft, path, event.at)
      return step(draft, rootID, event)
    case 'status': {
      const cell = getCell(draft, event.sessionID)
      const idle = event.status === 'idle'
      if (cell.idle !== idle) putCell(draft, { ...cell, idle })
      if (!idle) open(draft, path, event.at)
      return step(draft, rootID, event)
    }
    case 'todos':
      putCell(draft, { ...getCell(draft, event.sessionID), todos: event.todos })
      return step(draft, rootID, event)
    case 'message-removed': {
      const cell = getCell(draft, event.sessionID)
      const role = cell.roles.get(event.messageID)
      if (role?.run === cell.run) return step(draft, rootID, event)
      return role && amendPast(draft, rootID, role.run, event)
    }
    default:
      return step(draft, rootID, event)
  }
}

function placeSession(draft: Draft, event: SessionEvent): void {
  learn(draft, event.sessionID, event)
  const path = pathOf(draft, event.sessionID)
  if (path?.[0] !== undefined) step(draft, path[0], event)
}

/** Notes what a session is. What waited for that goes its way now. */
function learn(
  draft: Draft,
  id: string,
  news: {
    parentID?: string | undefined
    title?: string | undefined
    directory?: string | undefined
    createdAt?: number | undefined
  },
): void {
  const cell = getCell(draft, id)
  const { title = cell.title, directory = cell.directory, createdAt = cell.createdAt } = news
  const parentID = cell.known ? cell.parentID : news.parentID
  if (cell.known && title === cell.title && directory === cell.directory) return
  putCell(draft, { ...cell, known: true, parentID, title, directory, createdAt })
  if (cell.known) return
  for (const waiting of draft.state.waiting) if (pathOf(draft, waiting)) replayHeld(draft, waiting, () => true)
}

function replayHeld(draft: Draft, sessionID: string, isWanted: (event: SessionScopedEvent) => boolean): void {
  for (const event of release(draft, sessionID, isWanted)) place(draft, event)
}

function placeDelta(draft: Draft, rootID: string, event: DeltaEvent): void {
  const cell = getCell(draft, event.sessionID)
  const role = cell.roles.get(event.messageID)
  if (!role) return hold(draft, event)
  if (role.run !== cell.run || role.role !== 'assistant') return
  const before = getCell(draft, rootID).reply
  step(draft, rootID, event)
  if (before && before === getCell(draft, rootID).reply && isUntyped(before, event)) hold(draft, event)
}

function isUntyped(root: NonNullable<Cell['reply']>, event: DeltaEvent): boolean {
  const reply = findReply(root, event.sessionID)
  const message = reply?.messages[messageAt(reply.messages, event.messageID)]
  return message !== undefined && !message.parts.some((part) => part.id === event.partID)
}

function placePart(draft: Draft, rootID: string, event: PartEvent): void {
  const { part, sessionID } = event
  const cell = getCell(draft, sessionID)
  const role = cell.roles.get(part.messageID)
  if (!role) return hold(draft, event)
  if (role.role === 'summary') return
  if (role.run !== cell.run) return amendPast(draft, rootID, role.run, event)
  step(draft, rootID, event)
  if (part.type === 'tool') learnChild(draft, event)
  if (cell.held.length > 0) replayHeld(draft, sessionID, (held) => held.type === 'delta' && held.partID === part.id)
}

/** A task's part may name its session before the session itself was told of. */
function learnChild(draft: Draft, { part, sessionID }: PartEvent): void {
  const childID = part.type === 'tool' && part.tool === 'task' ? part.state.metadata?.sessionId : undefined
  if (typeof childID === 'string' && childID !== sessionID) learn(draft, childID, { parentID: sessionID })
}

function placeMessage(draft: Draft, path: readonly string[], event: MessageEvent): void {
  const { message, sessionID } = event
  const rootID = path[0] ?? sessionID
  const { roles, run, createdAt } = getCell(draft, sessionID)
  const known = roles.get(message.id)
  if (known && known.run !== run) return amendPast(draft, rootID, known.run, event)
  if (!known) {
    // A fork begins with copies of another session's messages: they are older than the session itself, and no news.
    if (createdAt !== undefined && message.createdAt !== undefined && message.createdAt < createdAt)
      return remember(draft, event, -1)
    endStranded(draft, rootID, event)
    open(draft, path, event.at)
  }
  const cell = getCell(draft, sessionID)
  if (known?.role !== roleOf(message)) remember(draft, event, cell.run)
  step(draft, rootID, event)
  if (cell.held.length > 0) replayHeld(draft, sessionID, (held) => messageIDOf(held) === message.id)
}

function remember(draft: Draft, { sessionID, message }: MessageEvent, run: number): void {
  const cell = getCell(draft, sessionID)
  putCell(draft, { ...cell, roles: withRole(cell.roles, message.id, { role: roleOf(message), run }) })
}

/**
 * A new prompt, on a new connection on which nothing was heard of the run before it, while that run has a step that never
 * ended: the server was restarted in between, and the run is lost.
 */
function endStranded(draft: Draft, rootID: string, { sessionID, message, at }: MessageEvent): void {
  const { reply, epoch } = getCell(draft, rootID)
  if (sessionID !== rootID || message.role !== 'user' || epoch === draft.state.epoch) return
  if (reply && isOpen(reply) && !isFinished(reply)) step(draft, rootID, { type: 'settle', sessionID, by: 'lost', at })
}

function touch(draft: Draft, sessionID: string): void {
  const cell = getCell(draft, sessionID)
  if (cell.epoch !== draft.state.epoch) putCell(draft, { ...cell, epoch: draft.state.epoch })
}

function messageIDOf(event: SessionScopedEvent): string | undefined {
  if (event.type === 'part') return event.part.messageID
  return event.type === 'delta' ? event.messageID : undefined
}

function withRole(roles: Cell['roles'], id: string, role: MessageRole): Cell['roles'] {
  const next = new Map(roles).set(id, role)
  for (const oldest of next.keys()) {
    if (next.size <= maxRoles) break
    next.delete(oldest)
  }
  return next
}

/** A reading over REST: of the messages only the run's own go on to `reduce`; of the older ones the ids are remembered. */
function placeSnapshot(draft: Draft, path: readonly string[], event: SnapshotEvent): void {
  const { sessionID, messages, at } = event
  const rootID = path[0] ?? sessionID
  const isRunning = event.status !== 'idle' || event.asks.length > 0
  const current = getCell(draft, rootID).reply
  if (isRunning && !isOpen(current && findReply(current, sessionID))) open(draft, path, at)
  const cell = getCell(draft, sessionID)
  const reply = current && findReply(current, sessionID)
  const known = messages.findIndex(({ head }) => cell.roles.get(head.id)?.run === cell.run)
  const start = known === -1 ? runStart(messages) : known
  const isOwn = (index: number): boolean => (isRunning || isOpen(reply) || known !== -1) && index >= start
  let { roles } = cell
  for (const [index, { head }] of messages.entries()) {
    if (!roles.has(head.id)) roles = withRole(roles, head.id, { role: roleOf(head), run: isOwn(index) ? cell.run : -1 })
  }
  putCell(draft, { ...cell, roles, todos: event.todos, idle: !isRunning })
  const own = messages.filter((_, index) => isOwn(index))
  step(draft, rootID, { ...event, messages: own, children: [] })
  for (const child of event.children) place(draft, child)
  replayHeld(draft, sessionID, () => true)
}

/** Before a reply ends for good: what never learned whose or what it is. */
function placeSettle(draft: Draft, rootID: string, event: SettleEvent): void {
  const { idle } = getCell(draft, event.sessionID)
  if (event.by === 'grace' || (event.by === 'end' && idle)) adoptOrphans(draft, event)
  step(draft, rootID, { ...event, idle })
}

/**
 * Idle was seen and nobody could say whose a message is: with a delta or a part other than text it is the assistant's,
 * and a delta without a part takes the type that its field names.
 */
function adoptOrphans(draft: Draft, { sessionID, at }: SettleEvent): void {
  const cell = getCell(draft, sessionID)
  const ids = new Set(
    cell.held
      .filter((event) => event.type === 'delta' || (event.type === 'part' && event.part.type !== 'text'))
      .map(messageIDOf),
  )
  for (const id of ids) {
    if (id === undefined) continue
    const head = { id, role: 'assistant', summary: false, raw: undefined } as const
    if (!cell.roles.has(id)) place(draft, { type: 'message', sessionID, at, message: head })
  }
  for (const delta of release(draft, sessionID, (event) => event.type === 'delta')) {
    if (delta.type !== 'delta') continue
    const { partID: id, messageID, delta: text, field, raw } = delta
    const type = field === 'reasoning' ? 'reasoning' : 'text'
    place(draft, { type: 'part', sessionID, at, part: { id, messageID, status: 'open', type, text, raw } })
  }
}
