import type { MessageEvent, MessageHead } from '../event.ts'
import { messageIDOf } from '../reduce/message.ts'
import { isFinished } from '../reduce/settle.ts'
import { resume } from './hold.ts'
import { amendPast, isOpen, open, step } from './open.ts'
import { type Cell, type Draft, getCell, type MessageRole, putCell } from './state.ts'

/** The ids of a session's messages that are remembered, so that late news of an old one open no reply. */
const maxRoles = 5000

export function placeMessage(draft: Draft, path: readonly string[], event: MessageEvent): void {
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
  if (cell.held.length > 0) resume(draft, sessionID, (held) => messageIDOf(held) === message.id)
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

export function withRole(roles: Cell['roles'], id: string, role: MessageRole): Cell['roles'] {
  const next = new Map(roles).set(id, role)
  for (const oldest of next.keys()) {
    if (next.size <= maxRoles) break
    next.delete(oldest)
  }
  return next
}

export function roleOf(head: MessageHead): MessageRole['role'] {
  return head.summary ? 'summary' : head.role
}
