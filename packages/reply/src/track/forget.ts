import { sessionsIn } from '../reduce/child.ts'
import type { Reply } from '../reply.ts'
import { cellValues, withoutCell } from './cells.ts'
import { dropHeldEvents } from './held-events.ts'
import { type Cell, changeCell, changeState, type Draft, getCell } from './state.ts'

/** A settled reply of a root session. `run` counts the session's replies. */
export interface SettledReply {
  readonly rootID: string
  readonly run: number
}

/**
 * Adds a root's reply that has just settled to the list of those that are kept for late events. Drops the oldest ones
 * beyond the limit.
 */
export function keepSettledReply(draft: Draft, rootID: string): void {
  const { run, past } = getCell(draft, rootID)
  // A session keeps only some of its earlier replies, so the others must not count.
  const kept = draft.state.settled.filter((one) => one.rootID !== rootID || past.some((reply) => reply.run === one.run))
  const all = [...kept, { rootID, run }]
  const excess = Math.max(0, all.length - draft.state.limits.keepSettled)
  changeState(draft, { settled: all.slice(excess) })
  for (const oldest of all.slice(0, excess)) forgetReply(draft, oldest)
}

/**
 * Drops sessions without a reply or held events once there are more than `sweepAt`. Does nothing until then. A session
 * that becomes active again is read again.
 */
export function forgetQuietSessions(draft: Draft): void {
  const { cells, sweepAt, limits } = draft.state
  if (cells.size <= sweepAt) return
  const all = cellValues(cells)
  const needed = new Set(all.flatMap((cell) => (cell.reply ? sessionsIn(cell.reply) : [])))
  for (const { id, held } of all) if (held.length === 0 && !needed.has(id)) forgetSession(draft, id)
  changeState(draft, { sweepAt: draft.state.cells.size + limits.maxQuiet })
}

/**
 * Drops a settled reply. With its newest reply, the session itself and its sub-agents' sessions are dropped, unless one
 * of the sub-agents still runs. Does nothing for a session without a reply.
 */
function forgetReply(draft: Draft, { rootID, run }: SettledReply): void {
  const cell = getCell(draft, rootID)
  const { reply, past } = cell
  if (!reply) return
  if (cell.run !== run) return changeCell(draft, cell, { past: past.filter((one) => one.run > run) })
  if (isAnyRunning(reply)) return
  for (const id of sessionsIn(reply)) forgetSession(draft, id)
}

/** Drops all data of a session, and its held events. */
function forgetSession(draft: Draft, id: Cell['id']): void {
  dropHeldEvents(draft, id)
  changeState(draft, { cells: withoutCell(draft.state.cells, id) })
}

/** Whether the reply is open, or one of its sub-agents still runs in the background. */
function isAnyRunning(reply: Reply): boolean {
  return reply.phase !== 'settled' || reply.children.some((child) => isAnyRunning(child.reply))
}
