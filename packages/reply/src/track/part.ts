import type { DeltaEvent, PartEvent } from '../event.ts'
import { findReply, sessionOf } from '../reduce/child.ts'
import { messageAt } from '../reduce/part.ts'
import { partAt } from '../reduce/parts.ts'
import { reduce } from '../reduce/reduce.ts'
import { cellOf, withCell } from './cells.ts'
import { hold, requeueHeld } from './held-events.ts'
import { amendPast, isOpen, reduceReply } from './open-run.ts'
import { roleIn, roleOfMessage } from './roles.ts'
import { recordSession } from './session.ts'
import { type Cell, type Draft, getCell, type Tracked, type TrackState, withCells, withReply } from './state.ts'

/**
 * The fast path for nearly every event: more text for an open part of a root whose run is open. Looks up everything
 * once. Returns undefined for any other delta, or one that changes nothing: those take the general path.
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

export function placeDelta(draft: Draft, rootID: string, event: DeltaEvent): void {
  const cell = getCell(draft, event.sessionID)
  const role = roleOfMessage(cell, event.messageID)
  if (!role) return hold(draft, event)
  if (role.run !== cell.run || role.role !== 'assistant') return
  const before = getCell(draft, rootID).reply
  reduceReply(draft, rootID, event)
  if (before && before === getCell(draft, rootID).reply && isUntyped(before, event)) hold(draft, event)
}

function isUntyped(root: NonNullable<Cell['reply']>, event: DeltaEvent): boolean {
  const reply = findReply(root, event.sessionID)
  const message = reply?.messages[messageAt(reply.messages, event.messageID)]
  return message !== undefined && partAt(message, event.partID) === -1
}

export function placePart(draft: Draft, rootID: string, event: PartEvent): void {
  const { part, sessionID } = event
  const cell = getCell(draft, sessionID)
  const role = roleOfMessage(cell, part.messageID)
  if (!role) return hold(draft, event)
  if (role.role === 'summary') return
  if (role.run !== cell.run) return amendPast(draft, rootID, role.run, event)
  reduceReply(draft, rootID, event)
  if (part.type === 'tool') learnChild(draft, event)
  if (cell.held.length > 0) requeueHeld(draft, sessionID, (held) => held.type === 'delta' && held.partID === part.id)
}

/** A task's part may name its session before the session's own event. */
function learnChild(draft: Draft, { part, sessionID }: PartEvent): void {
  const childID = sessionOf(part)
  if (childID !== undefined && childID !== sessionID) recordSession(draft, childID, { parentID: sessionID })
}
