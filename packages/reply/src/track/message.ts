import type { DeltaEvent, MessageEvent, PartEvent, SessionScopedEvent } from '../event.ts'
import { childSessionOf, findReply } from '../reduce/child.ts'
import { hasMessageEnded, messageIDOf } from '../reduce/message.ts'
import { messageIndexOf } from '../reduce/part.ts'
import { partIndexOf } from '../reduce/part-list.ts'
import { reduce } from '../reduce/reduce.ts'
import { isEmptyRun, isFinished } from '../reduce/settle.ts'
import { cellOf, withCell } from './cells.ts'
import { holdEvent, requeueHeldEvents } from './held-events.ts'
import { amendPast, isOpen, isOpenIn, openRun, reduceReply } from './open-run.ts'
import { goneRun, isBefore, roleIn, roleOfHead, roleOfMessage, withRole } from './roles.ts'
import { isAskedAfter } from './run-boundaries.ts'
import { isUnread, recordSession } from './session.ts'
import {
  type Cell,
  changeCell,
  type Draft,
  getCell,
  type Tracked,
  type TrackState,
  withCells,
  withReply,
} from './state.ts'

/**
 * Assigns a message to a run, and passes it to the reply of that run, which may be an earlier one. A new message
 * belongs to the open run, or opens one after it has ended a run that it shows to be over. Messages from before the
 * session was known, such as a fork's copies, only get a role. Releases the events that waited for the message.
 */
export function placeMessage(draft: Draft, path: readonly string[], event: MessageEvent): void {
  const { message, sessionID } = event
  const rootID = path[0] ?? sessionID
  const { roles, run, createdAt, readFrom } = getCell(draft, sessionID)
  const knownRole = roleIn(roles, message.id)
  if (knownRole && knownRole.run !== run) return amendPast(draft, rootID, knownRole.run, event)
  if (!knownRole) {
    // A fork begins with copies of another session's messages, which are older than the session itself and not new.
    // Times don't decide while its run is open, or for a step that is running, because the server's clock may have been
    // set back.
    const isLive = isOpenIn(draft, rootID, sessionID) || isUnfinishedStep(message)
    const isCopy = createdAt !== undefined && message.createdAt !== undefined && message.createdAt < createdAt
    const isBeforeRead = readFrom !== undefined && isBefore(message, readFrom)
    if (!isLive && (isCopy || isBeforeRead || isFromBeforeListening(draft, event)))
      return rememberRole(draft, event, goneRun)
    if (isAlreadyAnswered(draft, rootID, event) || isPromptOfSettledReply(draft, rootID, event))
      rememberRole(draft, event, run)
    else {
      endPreviousRunIfOver(draft, rootID, event)
      openRun(draft, path, event.at)
    }
  }
  const cell = getCell(draft, sessionID)
  const streamEpoch = message.role === 'assistant' ? draft.state.epoch : cell.streamEpoch
  if (cell.streamEpoch !== streamEpoch || cell.promptedAt !== undefined)
    changeCell(draft, cell, { streamEpoch, promptedAt: undefined })
  if (knownRole?.role !== roleOfHead(message)) rememberRole(draft, event, cell.run)
  if (!knownRole && cell.endedByRest) changeCell(draft, getCell(draft, sessionID), { endedByRest: false })
  reduceReply(draft, rootID, event)
  if (cell.held.length > 0) requeueHeldEvents(draft, sessionID, (held) => messageIDOf(held) === message.id)
}

/** Whether it is a prompt that arrives after its answer in the newest reply. It then belongs to the answer's run. */
function isAlreadyAnswered(draft: Draft, rootID: string, { sessionID, message }: MessageEvent): boolean {
  const root = getCell(draft, rootID).reply
  const reply = root && message.role === 'user' ? findReply(root, sessionID) : undefined
  return reply?.messages.some(({ parentID }) => parentID === message.id) ?? false
}

/** Whether it is our own prompt, which arrives after its reply has settled without running anything. */
function isPromptOfSettledReply(draft: Draft, rootID: string, { sessionID, message }: MessageEvent): boolean {
  const { reply } = getCell(draft, rootID)
  if (sessionID !== rootID || message.role !== 'user' || reply?.phase !== 'settled') return false
  return reply.prompt?.parts.length === 0 && reply.promptIDs.length === 0 && reply.messages.length === 0
}

/** Whether it is a model step that has not ended. A summary doesn't count. */
function isUnfinishedStep(message: MessageEvent['message']): boolean {
  return message.role === 'assistant' && !message.summary && !hasMessageEnded(message)
}

/**
 * Whether it existed before we listened, in a session that was idle then. One without a time counts as older. False if
 * it is unknown when listening began.
 */
function isFromBeforeListening(draft: Draft, { sessionID, message }: MessageEvent): boolean {
  const { listeningFrom = -1 } = draft.state
  return (message.createdAt ?? listeningFrom) <= listeningFrom && isUnread(draft, getCell(draft, sessionID))
}

/**
 * Removes a message or part from the reply of its run. Later events about a removed message are outdated and ignored.
 * Does nothing for an unknown message.
 */
export function placeRemoval(draft: Draft, rootID: string, event: RemovalEvent): void {
  const cell = getCell(draft, event.sessionID)
  const role = roleIn(cell.roles, event.messageID)
  if (!role) return
  if (role.run === cell.run) reduceReply(draft, rootID, event)
  else amendPast(draft, rootID, role.run, event)
  if (event.type === 'part-removed') return
  const { id, roles } = getCell(draft, event.sessionID)
  changeCell(draft, getCell(draft, id), { roles: withRole(roles, { ...role, run: goneRun }) })
}

type RemovalEvent = Extract<SessionScopedEvent, { type: 'message-removed' | 'part-removed' }>

/** Records the role and the run of a message, so that later events about it are assigned to that run. */
function rememberRole(draft: Draft, { sessionID, message }: MessageEvent, run: number): void {
  const cell = getCell(draft, sessionID)
  changeCell(draft, cell, { roles: withRole(cell.roles, { messageID: message.id, role: roleOfHead(message), run }) })
}

/** Records that these messages belong to earlier runs, unless their runs are known. */
export function rememberEarlier(draft: Draft, sessionID: string, messageIDs: readonly string[]): void {
  const cell = getCell(draft, sessionID)
  let { roles } = cell
  for (const messageID of messageIDs)
    if (!roleIn(roles, messageID)) roles = withRole(roles, { messageID, role: 'assistant', run: goneRun })
  if (roles !== cell.roles) changeCell(draft, cell, { roles })
}

/**
 * Ends the root's previous run if a new message shows that it has ended. Does nothing for a sub-agent, or if no run
 * with events is open. A new prompt may be the first sign:
 *
 * - If REST showed the session idle and all steps have ended, the run has ended.
 * - If its last step ended for good and the stream has sent none of its events on this connection, its end was missed.
 * - If a step never ended and the run's last event is from an earlier connection, the server was restarted and the run
 * is lost.
 *
 * A step that begins for another prompt although the step before never ended also means that the run is lost.
 */
function endPreviousRunIfOver(draft: Draft, rootID: string, { sessionID, message, at }: MessageEvent): void {
  const { reply, epoch, streamEpoch, idle } = getCell(draft, rootID)
  if (sessionID !== rootID || !reply || !isOpen(reply) || reply.phase === 'waiting' || isEmptyRun(reply)) return
  if (message.role === 'assistant') {
    if (!message.summary) splitLostRun(draft, rootID, message.parentID, at)
    return
  }
  if (isFinished(reply)) {
    const last = reply.messages.at(-1)
    // A prompt that was queued before the step began is older, so it joins the run.
    const isLater = (message.createdAt ?? 0) >= (last?.completedAt ?? Number.POSITIVE_INFINITY)
    const isEndMissed =
      streamEpoch !== draft.state.epoch &&
      last !== undefined &&
      isLater &&
      isAskedAfter({ head: last, parts: last.parts }, message)
    if (idle || isEndMissed) reduceReply(draft, rootID, { type: 'settle', sessionID, by: 'rest', at })
  } else if (epoch !== draft.state.epoch) reduceReply(draft, rootID, { type: 'settle', sessionID, by: 'lost', at })
}

/**
 * Ends the root's run as lost if the prompt `parentID` is answered although the run's last step, for another prompt,
 * never ended. If that prompt had joined the run, it begins the next one instead. Does nothing if the last step has
 * ended or answers the same prompt, or if the prompt is from an earlier run.
 */
export function splitLostRun(draft: Draft, rootID: string, parentID: string | undefined, at: number): void {
  const { roles, run, reply } = getCell(draft, rootID)
  const last = reply?.messages.at(-1)
  if (!reply || !last || hasMessageEnded(last) || parentID === undefined || last.parentID === parentID) return
  const parent = roleIn(roles, parentID)
  if (parent && (parent.run !== run || !reply.promptIDs.includes(parentID))) return
  if (parent) reduceReply(draft, rootID, { type: 'message-removed', sessionID: rootID, messageID: parentID, at })
  reduceReply(draft, rootID, { type: 'settle', sessionID: rootID, by: 'lost', at })
  if (!parent) return
  openRun(draft, [rootID], at)
  movePrompt(draft, rootID, parentID, at)
}

/** Makes a prompt one of the root's newest run, and removes it from the run that it had joined. */
export function movePrompt(draft: Draft, rootID: string, messageID: string, at: number): void {
  const joined = roleIn(getCell(draft, rootID).roles, messageID)
  if (joined) amendPast(draft, rootID, joined.run, { type: 'message-removed', sessionID: rootID, messageID, at })
  const { id, roles, run } = getCell(draft, rootID)
  changeCell(draft, getCell(draft, id), { roles: withRole(roles, { messageID, role: 'user', run }) })
  const message = { id: messageID, role: 'user', summary: false, raw: undefined } as const
  reduceReply(draft, rootID, { type: 'message', sessionID: rootID, message, at })
}

/**
 * The fast path for nearly every event: more text for an open part of a root whose run is open. Looks up everything
 * once. Returns undefined for any other delta and for one that changes nothing. Those take the general path.
 */
export function trackDelta(state: TrackState, event: DeltaEvent): Tracked | undefined {
  const cell = cellOf(state.cells, event.sessionID)
  if (!cell?.known || cell.parentID !== undefined || cell.epoch !== state.epoch) return undefined
  const role = roleIn(cell.roles, event.messageID)
  if (role?.role !== 'assistant' || role.run !== cell.run || !isOpen(cell.reply)) return undefined
  const { reply, changes, raw } = reduce(cell.reply, event)
  if (reply === cell.reply) return undefined
  const cells = withCell(state.cells, withReply(cell, reply))
  return { state: withCells(state, cells), steps: [{ reply, changes, raw, run: cell.run }], dropped: 0 }
}

/**
 * Passes a delta to the reply of the current run. Holds it while its message or its part is unknown. Ignores one of a
 * prompt, of a summary or of an earlier run.
 */
export function placeDelta(draft: Draft, rootID: string, event: DeltaEvent): void {
  const cell = getCell(draft, event.sessionID)
  const role = roleOfMessage(cell, event.messageID)
  if (!role) return holdEvent(draft, event)
  if (role.run !== cell.run || role.role !== 'assistant') return
  const before = getCell(draft, rootID).reply
  reduceReply(draft, rootID, event)
  if (before && before === getCell(draft, rootID).reply && isPartUnknown(before, event)) holdEvent(draft, event)
}

/** Whether the delta's message is known but the part is not. False if the message isn't in the reply. */
function isPartUnknown(root: NonNullable<Cell['reply']>, event: DeltaEvent): boolean {
  const reply = findReply(root, event.sessionID)
  const message = reply?.messages[messageIndexOf(reply.messages, event.messageID)]
  return message !== undefined && partIndexOf(message, event.partID) === -1
}

/**
 * Passes a part to the reply of its run, which may be an earlier one. Records the session that a tool's part names, and
 * releases the deltas that waited for the part. Holds it while its message is unknown. Ignores parts of a summary.
 */
export function placePart(draft: Draft, rootID: string, event: PartEvent): void {
  const { part, sessionID } = event
  const cell = getCell(draft, sessionID)
  const role = roleOfMessage(cell, part.messageID)
  if (!role) return holdEvent(draft, event)
  if (role.role === 'summary') return
  if (role.run !== cell.run) return amendPast(draft, rootID, role.run, event)
  reduceReply(draft, rootID, event)
  if (part.type === 'tool') recordChildSession(draft, event)
  if (cell.held.length > 0)
    requeueHeldEvents(draft, sessionID, (held) => held.type === 'delta' && held.partID === part.id)
}

/**
 * Records the parent of the session that a task's part names, because the part may come before the session's own event.
 * Does nothing if it names none.
 */
function recordChildSession(draft: Draft, { part, sessionID }: PartEvent): void {
  const childID = childSessionOf(part)
  if (childID !== undefined && childID !== sessionID) recordSession(draft, childID, { parentID: sessionID })
}
