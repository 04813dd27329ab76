import type { Reply } from '../reply.ts'
import { cellValues, withoutCell } from './cells.ts'
import { dropHeld } from './held-events.ts'
import { type Cell, changeState, type Draft, getCell } from './state.ts'

/** Called when a root's reply has settled. Drops the oldest settled replies beyond the limit. */
export function retireReply(draft: Draft, rootID: string): void {
  const settled = [...draft.state.settled.filter((id) => id !== rootID), rootID]
  changeState(draft, { settled })
  while (draft.state.settled.length > draft.state.limits.keepSettled) {
    const [oldest, ...rest] = draft.state.settled
    changeState(draft, { settled: rest })
    if (oldest !== undefined) forgetRoot(draft, oldest)
  }
}

/**
 * Drops sessions without a reply or held events once there are many. A session that becomes active again is read again.
 */
export function forgetQuietSessions(draft: Draft): void {
  const { cells, sweepAt, limits } = draft.state
  if (cells.size <= sweepAt) return
  const all = cellValues(cells)
  const needed = new Set(all.flatMap((cell) => (cell.reply ? sessionsIn(cell.reply) : [])))
  for (const { id, held } of all) if (held.length === 0 && !needed.has(id)) forget(draft, id)
  changeState(draft, { sweepAt: draft.state.cells.size + limits.maxQuiet })
}

function forgetRoot(draft: Draft, rootID: string): void {
  const { reply } = getCell(draft, rootID)
  if (!reply || isAtWork(reply)) return
  for (const id of sessionsIn(reply)) forget(draft, id)
}

function forget(draft: Draft, id: Cell['id']): void {
  dropHeld(draft, id)
  changeState(draft, { cells: withoutCell(draft.state.cells, id) })
}

/** Whether the reply is open, or one of its sub-agents still works in the background. */
function isAtWork(reply: Reply): boolean {
  return reply.phase !== 'settled' || reply.children.some((child) => isAtWork(child.reply))
}

function sessionsIn(reply: Reply): string[] {
  return [reply.sessionID, ...reply.children.flatMap((child) => sessionsIn(child.reply))]
}
