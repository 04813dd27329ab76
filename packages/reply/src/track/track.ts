import type { Ask } from '../ask.ts'
import { type OnError, ReplyError } from '../error.ts'
import type { ReplyEvent, SessionScopedEvent, SettleEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { askIndexOf } from '../reduce/ask-list.ts'
import { messageIDOf } from '../reduce/message.ts'
import type { Reply } from '../reply.ts'
import { cellOf, cellValues } from './cells.ts'
import { forgetQuietSessions } from './forget.ts'
import { dropHeldEvents, holdEvent, takeHeldEvents } from './held-events.ts'
import {
  movePrompt,
  placeDelta,
  placeMessage,
  placePart,
  placeRemoval,
  rememberEarlier,
  trackDelta,
} from './message.ts'
import { hasOpenRun, isOpen, isOpenIn, isWaitingIn, openForBackgroundWork, openRun, reduceReply } from './open-run.ts'
import { beginsWithAnswer, roleIn } from './roles.ts'
import { isUnread, placeSession, recordSession, recordWorkEpoch } from './session.ts'
import { placeSnapshot } from './snapshot.ts'
import {
  type Cell,
  changeCell,
  changeState,
  type Draft,
  draftOf,
  getCell,
  type Idle,
  pathOf,
  type Tracked,
  type TrackState,
} from './state.ts'

/**
 * Applies an event of a server. Pass all of the server's events, in order: it assigns them to sessions and replies,
 * holds those that can't be placed yet, opens replies, and passes each event to `reduce`. `heartbeat`, `disposed` and
 * `missed` change nothing. Pure.
 */
export function track(state: TrackState, event: ReplyEvent): Tracked {
  const grown = event.type === 'delta' ? trackDelta(state, event) : undefined
  if (grown) return grown
  const draft = draftOf(state)
  if (event.type === 'connected') changeState(draft, { epoch: state.epoch + 1 })
  else if (event.type === 'listening')
    changeState(draft, { listeningFrom: Math.max(event.from, state.listeningFrom ?? 0) })
  else if (event.type !== 'heartbeat' && event.type !== 'disposed' && event.type !== 'missed') placeEvent(draft, event)
  // Held events that can be placed now.
  for (let held = draft.queue.shift(); held; held = draft.queue.shift()) placeEvent(draft, held)
  forgetQuietSessions(draft)
  return { state: draft.state, steps: draft.steps, dropped: draft.dropped }
}

/**
 * Lists the sessions whose parent is unknown and that held events wait for. Empty if no event is held. A session may be
 * listed several times.
 */
export function unknownSessions(state: TrackState): readonly string[] {
  if (state.waiting.length === 0) return []
  const draft = draftOf(state)
  return state.waiting.map((id) => firstUnknown(draft, id)).filter((id) => id !== undefined)
}

/** Returns the events of a session that wait for their message or their session, in order. Empty if none does. */
export function heldEventsOf(state: TrackState, sessionID: string): readonly SessionScopedEvent[] {
  return cellOf(state.cells, sessionID)?.held ?? []
}

/** Returns the newest reply of each root session, open or settled. */
export function repliesOf(state: TrackState): readonly NonNullable<Cell['reply']>[] {
  return cellValues(state.cells).flatMap((cell) => (cell.reply ? [cell.reply] : []))
}

/**
 * The first session on the way up whose parent is unknown, which must be read to place the events of this one.
 * Undefined if the path to the root is known, or is a circle.
 */
function firstUnknown(draft: Draft, id: string): string | undefined {
  const seen = new Set<string>()
  for (let next: string | undefined = id; next !== undefined && !seen.has(next); next = getCell(draft, next).parentID) {
    seen.add(next)
    if (!getCell(draft, next).known) return next
  }
  return undefined
}

/**
 * Applies an event, or holds it if the path from its session to the root is not known yet. A snapshot and a new prompt
 * make their session known. A `session` event is recorded in any case. If an unknown session is removed, its held
 * events are dropped.
 */
function placeEvent(draft: Draft, event: SessionScopedEvent): void {
  if (event.type === 'session') return placeSession(draft, event)
  if (event.type === 'opened' || event.type === 'snapshot')
    recordSession(draft, event.sessionID, event.type === 'snapshot' ? event.session : {})
  // No later event will name its parent.
  if (event.type === 'session-removed' && !getCell(draft, event.sessionID).known)
    return void dropHeldEvents(draft, event.sessionID)
  const path = pathOf(draft, event.sessionID)
  if (!path) return holdEvent(draft, event)
  placeInTree(draft, path, event)
}

/**
 * Opens and ends runs as the event requires, and passes it to the reply of its run. `path` leads from the root to its
 * session. Ignores an event that ends an earlier run, a repeated ask that was resolved, the end of an ask of an earlier
 * run, and a lone ask or status of a run that may have ended.
 */
function placeInTree(draft: Draft, path: readonly string[], event: SessionScopedEvent): void {
  const rootID = path[0] ?? event.sessionID
  if (endsEarlierRun(draft, event)) return
  if (showsWork(event)) recordWorkEpoch(draft, event)
  switch (event.type) {
    case 'delta':
      openForBackgroundWork(draft, path, event)
      return placeDelta(draft, rootID, event)
    case 'part':
      openForBackgroundWork(draft, path, event)
      return placePart(draft, rootID, event)
    case 'message':
      return placeMessage(draft, path, event)
    case 'snapshot':
      return placeSnapshot(draft, path, event)
    case 'settle':
      return placeSettle(draft, rootID, event)
    case 'asked':
      if (isAskPending(getCell(draft, rootID), event.ask.requestID)) return reduceReply(draft, rootID, event)
      // A repeated ask opens no run.
      if (knowsAsk(getCell(draft, rootID), event.ask.requestID)) return
      if (mayBelongToEndedRun(draft, event.sessionID) && !isOpenIn(draft, rootID, event.sessionID)) return
      openRun(draft, path, event.at)
      return reduceReply(draft, rootID, event)
    case 'ask-closed':
      return isAskOfPastRun(getCell(draft, rootID), event.requestID) ? undefined : reduceReply(draft, rootID, event)
    case 'opened':
      rememberEarlier(draft, event.sessionID, event.earlierIDs ?? [])
      openRun(draft, path, event.at)
      reduceReply(draft, rootID, event)
      return event.promptID === undefined ? undefined : movePrompt(draft, event.sessionID, event.promptID, event.at)
    case 'retry':
      if (!mayBelongToEndedRun(draft, event.sessionID)) openRun(draft, path, event.at)
      return reduceReply(draft, rootID, event)
    case 'status':
      return event.status === 'idle' ? placeIdle(draft, rootID, event) : placeBusy(draft, path, event)
    case 'todos':
      changeCell(draft, getCell(draft, event.sessionID), { todos: event.todos, todosAt: event.at })
      return reduceReply(draft, rootID, event)
    case 'session-removed':
      if (event.by !== 'rest') changeCell(draft, getCell(draft, event.sessionID), { removed: true })
      return reduceReply(draft, rootID, event)
    case 'message-removed':
    case 'part-removed':
      return placeRemoval(draft, rootID, event)
    default:
      return reduceReply(draft, rootID, event)
  }
}

/** Whether the event ends the run before one that is only known from a read. False without the event's own time. */
function endsEarlierRun(draft: Draft, event: SessionScopedEvent): boolean {
  if (event.type !== 'error' && !(event.type === 'status' && event.status === 'idle')) return false
  const { promptedAt } = getCell(draft, event.sessionID)
  return promptedAt !== undefined && event.happenedAt !== undefined && event.happenedAt < promptedAt
}

/**
 * Records that the session is idle, and passes the event to its reply. Doesn't pass it on if the run's beginning or its
 * held events have yet to be read: the read then ends the run.
 */
function placeIdle(draft: Draft, rootID: string, event: StatusEvent): void {
  const cell = getCell(draft, event.sessionID)
  changeCell(draft, cell, { idle: 'reported', endedByRest: false, statusAt: event.at })
  // Held events may belong to this run: they are read before it ends.
  if (event.sessionID === rootID && cell.held.some(isFromAssistant)) return
  // The same applies to the beginning of a run that was active before we listened: it is read first.
  if (event.sessionID === rootID && beganBeforeListening(draft.state, cell)) return
  reduceReply(draft, rootID, event)
}

/**
 * Records that the session is busy, and no longer idle. Opens its run unless the event may belong to a run that has
 * ended. Passes the event on unless a read has ended the run and a prompt waits for the next one.
 */
function placeBusy(draft: Draft, path: readonly string[], event: StatusEvent): void {
  const { sessionID, at } = event
  const [rootID = sessionID] = path
  const cell = getCell(draft, sessionID)
  changeCell(draft, cell, { idle: undefined, statusAt: at })
  if (!mayBelongToEndedRun(draft, sessionID)) openRun(draft, path, at)
  if (cell.endedByRest && isWaitingIn(draft, rootID, sessionID)) return
  reduceReply(draft, rootID, event)
}

/**
 * Whether the open run began before we listened, so that its beginning is yet to be read. In recordings there is
 * nothing else to read.
 */
function beganBeforeListening({ listeningFrom }: TrackState, cell: Cell): boolean {
  return listeningFrom !== undefined && !cell.read && isOpen(cell.reply) && beginsWithAnswer(cell)
}

type StatusEvent = Extract<SessionScopedEvent, { type: 'status' }>

/** Whether a lone status or ask opens no run, because it may be the last event of a run that has ended. */
function mayBelongToEndedRun(draft: Draft, sessionID: string): boolean {
  const cell = getCell(draft, sessionID)
  return cell.endedByRest || isUnread(draft, cell)
}

/** Whether the ask is pending. It may be sent again with other content. */
function isAskPending({ reply }: Cell, requestID: string): boolean {
  return askIn(reply, requestID)?.status === 'pending'
}

/** Whether the root's newest reply or an earlier one has the ask. */
function knowsAsk(cell: Cell, requestID: string): boolean {
  return askIn(cell.reply, requestID) !== undefined || isAskOfPastRun(cell, requestID)
}

/** Whether the ask is from an earlier run and was not carried over from there. */
function isAskOfPastRun({ reply, past }: Cell, requestID: string): boolean {
  return past.some((one) => askIn(one.reply, requestID)) && !askIn(reply, requestID)
}

/** The reply's ask with this id. Undefined if there is none. */
function askIn(reply: Reply | undefined, requestID: string): Ask | undefined {
  return reply?.asks[askIndexOf(reply.asks, requestID)]
}

/** The root of a session's tree. Undefined while the session or a session above it is unknown. */
export function rootOf(state: TrackState, sessionID: string): string | undefined {
  return cellOf(state.cells, sessionID) && pathOf(draftOf(state), sessionID)?.[0]
}

/** Whether the session's last known status is idle, and its source. Undefined if it is busy or unknown. */
export function idleOf(state: TrackState, sessionID: string): Idle | undefined {
  return cellOf(state.cells, sessionID)?.idle
}

/** Whether the root session's own run is open, and not only the work of its sub-agents in the background. */
export function isRunOpen(state: TrackState, sessionID: string): boolean {
  const cell = cellOf(state.cells, sessionID)
  return cell !== undefined && hasOpenRun(cell)
}

/** The retained replies of a root session, newest last. Empty if none is kept. */
export function retainedReplies(state: TrackState, sessionID: string): readonly Reply[] {
  const cell = cellOf(state.cells, sessionID)
  const past = cell?.past.map(({ reply }) => reply) ?? []
  return cell?.reply ? [...past, cell.reply] : past
}

/** The session's directory. Undefined if unknown. */
export function directoryOf(state: TrackState, sessionID: string): string | undefined {
  return cellOf(state.cells, sessionID)?.directory
}

/**
 * Whether the event is a sign of the session's run on this connection: a delta, a part, a status, a retry, an ask or a
 * compaction. Any status counts, because even an idle status ends a run. A new prompt doesn't count, and neither does
 * an idle status that was read over REST.
 */
function showsWork(event: SessionScopedEvent): boolean {
  if (event.type === 'snapshot') return event.status !== 'idle'
  return workTypes.has(event.type)
}

const workTypes: ReadonlySet<SessionScopedEvent['type']> = new Set([
  'delta',
  'part',
  'status',
  'retry',
  'asked',
  'compacted',
])

/**
 * Tracks an event that may be inconsistent: if tracking throws, the error is reported as `malformed` and the event
 * skipped, so that one session's error doesn't affect the others. The state then stays the same, without steps.
 */
export function trackOrSkip(state: TrackState, event: ReplyEvent, onError: OnError | undefined): Tracked {
  try {
    return track(state, event)
  } catch (cause) {
    const whose = 'sessionID' in event ? ` of session ${event.sessionID}` : ''
    onError?.(
      new ReplyError('malformed', `An event "${event.type}"${whose} could not be applied and was skipped.`, { cause }),
    )
    return { state, steps: [], dropped: 0 }
  }
}

/**
 * Ends a reply, once no other event than an end is queued. Held events that never got their message or type are adopted
 * first, and the end waits for them too. Deltas without a part get a type only after an idle, and messages are only
 * created then. Records whether a read, not the stream, ended the run.
 */
function placeSettle(draft: Draft, rootID: string, event: SettleEvent): void {
  // Adopted events are placed before the end. Several ends don't wait for each other.
  if (draft.queue.some((waiting) => waiting.type !== 'settle')) return void draft.queue.push(event)
  // Adopting may open a reply that has not received an idle yet.
  const idle = event.idle ?? getCell(draft, event.sessionID).idle === 'reported'
  const withIdle = event.by === 'end' ? { ...event, idle } : event
  const isAfterIdle = event.by === 'grace' || (event.by === 'end' && idle)
  if (isAfterIdle && adoptMessages(draft, event)) draft.queue.push(withIdle)
  else if (adoptDeltas(draft, event, isAfterIdle ? 'typed' : 'unknown')) draft.queue.push(withIdle)
  else {
    changeCell(draft, getCell(draft, event.sessionID), {
      endedByRest: event.by === 'rest' || event.by === 'time-out' || event.by === 'lost',
    })
    reduceReply(draft, rootID, { ...event, idle })
  }
}

/**
 * Whether a held event can only belong to an assistant's message: a delta, or a part other than text. False for any
 * other event.
 */
function isFromAssistant(held: SessionScopedEvent): boolean {
  return held.type === 'delta' || (held.type === 'part' && held.part.type !== 'text')
}

/**
 * Queues messages for held events without one, after an idle. A message with a delta, or with a part other than text,
 * is the assistant's. At the end of a recording no more events will follow, so the message has ended, too. Returns
 * whether there were any.
 */
function adoptMessages(draft: Draft, { sessionID, at, by }: SettleEvent): boolean {
  const { held, roles } = getCell(draft, sessionID)
  const ids = new Set(held.filter(isFromAssistant).map(messageIDOf))
  let found = false
  for (const id of ids) {
    if (id === undefined || roleIn(roles, id)) continue
    const completedAt = by === 'end' ? at : undefined
    const message = { id, role: 'assistant', summary: false, completedAt, raw: undefined } as const
    draft.queue.push({ type: 'message', sessionID, at, message })
    found = true
  }
  return found
}

/**
 * Takes the held deltas whose part never arrived, and queues parts with their text. After an idle (`typed`) they get
 * the type that the field names. Without an idle they stay hidden and lose the text. Returns whether there were any.
 */
function adoptDeltas(draft: Draft, { sessionID, at }: SettleEvent, as: 'typed' | 'unknown'): boolean {
  const { roles } = getCell(draft, sessionID)
  const deltas = takeHeldEvents(
    draft,
    sessionID,
    (held) => held.type === 'delta' && roleIn(roles, held.messageID) !== undefined,
  )
  for (const delta of deltas) {
    if (delta.type !== 'delta') continue
    const { partID: id, messageID, delta: text, field, raw } = delta
    const type = field === 'reasoning' ? 'reasoning' : 'text'
    const part: Part =
      as === 'typed'
        ? { id, messageID, status: 'open', type, text, raw }
        : { id, messageID, status: 'sealed', type: as, raw }
    draft.queue.push({ type: 'part', sessionID, at, part })
  }
  return deltas.length > 0
}
