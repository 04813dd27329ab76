import type { DeltaEvent, PartEvent } from '../event.ts'
import { findReply } from '../reduce/child.ts'
import { messageAt } from '../reduce/part.ts'
import { hold, resume } from './hold.ts'
import { amendPast, step } from './open.ts'
import { learn } from './session.ts'
import { type Cell, type Draft, getCell } from './state.ts'

export function placeDelta(draft: Draft, rootID: string, event: DeltaEvent): void {
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

export function placePart(draft: Draft, rootID: string, event: PartEvent): void {
  const { part, sessionID } = event
  const cell = getCell(draft, sessionID)
  const role = cell.roles.get(part.messageID)
  if (!role) return hold(draft, event)
  if (role.role === 'summary') return
  if (role.run !== cell.run) return amendPast(draft, rootID, role.run, event)
  step(draft, rootID, event)
  if (part.type === 'tool') learnChild(draft, event)
  if (cell.held.length > 0) resume(draft, sessionID, (held) => held.type === 'delta' && held.partID === part.id)
}

/** A task's part may name its session before the session itself was told of. */
function learnChild(draft: Draft, { part, sessionID }: PartEvent): void {
  const childID = part.type === 'tool' && part.tool === 'task' ? part.state.metadata?.sessionId : undefined
  if (typeof childID === 'string' && childID !== sessionID) learn(draft, childID, { parentID: sessionID })
}
