import type { Reply } from '../reply.ts'
import { cellValues, withoutCell } from './cells.ts'
import { giveUp } from './hold.ts'
import { type Cell, changeState, type Draft, getCell } from './state.ts'

/** A root's reply has settled. Only so many are kept for late news. */
export function retire(draft: Draft, rootID: string): void {
  const settled = [...draft.state.settled.filter((id) => id !== rootID), rootID]
  changeState(draft, { settled })
  while (draft.state.settled.length > draft.state.limits.keepSettled) {
    const [oldest, ...rest] = draft.state.settled
    changeState(draft, { settled: rest })
    if (oldest !== undefined) forgetRoot(draft, oldest)
  }
}

/** Forgets sessions of which nothing is shown and nothing waits, once there are many. Whoever is heard of again is asked for again. */
export function sweep(draft: Draft): void {
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
  giveUp(draft, id)
  changeState(draft, { cells: withoutCell(draft.state.cells, id) })
}

/** It is open, or a sub-agent of it still works in the background. */
function isAtWork(reply: Reply): boolean {
  return reply.phase !== 'settled' || reply.children.some((child) => isAtWork(child.reply))
}

function sessionsIn(reply: Reply): string[] {
  return [reply.sessionID, ...reply.children.flatMap((child) => sessionsIn(child.reply))]
}
