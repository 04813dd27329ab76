import type { MessageEvent } from '../event.ts'
import { messageIDOf } from '../reduce/message.ts'
import { isFinished } from '../reduce/settle.ts'
import { resume } from './hold.ts'
import { amendPast, isOpen, open, step } from './open.ts'
import { roleIn, roleOf, withRole } from './roles.ts'
import { changeCell, type Draft, getCell } from './state.ts'

export function placeMessage(draft: Draft, path: readonly string[], event: MessageEvent): void {
  const { message, sessionID } = event
  const rootID = path[0] ?? sessionID
  const { roles, run, createdAt } = getCell(draft, sessionID)
  const known = roleIn(roles, message.id)
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
  changeCell(draft, cell, { roles: withRole(cell.roles, { messageID: message.id, role: roleOf(message), run }) })
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
