import type { SnapshotEvent } from '../event.ts'
import { findReply } from '../reduce/child.ts'
import { isFinished } from '../reduce/settle.ts'
import { resume } from './hold.ts'
import { isOpen, open, step } from './open.ts'
import { roleIn, roleOf, withRole } from './roles.ts'
import { runEnd, runStart } from './runs.ts'
import { type Cell, changeCell, type Draft, getCell } from './state.ts'

/**
 * A reading over REST: of the messages only the run's own go on to `reduce`; of the older ones the ids are remembered.
 * Where the open run has ended and another has begun in the meantime, each is read for itself.
 */
export function placeSnapshot(draft: Draft, path: readonly string[], event: SnapshotEvent): void {
  const { sessionID, messages, at } = event
  const rootID = path[0] ?? sessionID
  const isRunning = event.status !== 'idle' || event.asks.length > 0
  const before = getCell(draft, sessionID)
  if (before.removed) changeCell(draft, before, { removed: undefined })
  if (isRunning && hasNews(before, event) && !isOpenIn(draft, rootID, sessionID)) open(draft, path, at)
  const cell = getCell(draft, sessionID)
  const known = messages.findIndex(({ head }) => roleIn(cell.roles, head.id)?.run === cell.run)
  const older = messages.findLastIndex(({ head }) => (roleIn(cell.roles, head.id)?.run ?? cell.run) !== cell.run)
  const start = known === -1 ? Math.max(runStart(messages), older + 1) : known
  const hasOwn = isRunning || known !== -1 || isOpenIn(draft, rootID, sessionID)
  const isKnown = (id: string): boolean => roleIn(cell.roles, id)?.run === cell.run
  const end = sessionID === rootID && isOpen(cell.reply) ? runEnd(event, start, isKnown) : undefined
  if (end) {
    const { next, by } = end
    const run = { ...event, messages: messages.slice(0, next), status: 'idle' as const, asks: [], children: [] }
    placeSnapshot(draft, path, run)
    step(draft, rootID, { type: 'settle', sessionID, at, by })
    // What began after it is read as a run of its own, also if it has ended by now.
    if (!isOpenIn(draft, rootID, sessionID)) open(draft, path, at)
    return placeSnapshot(draft, path, event)
  }
  const answered = messages.findLastIndex(({ head }) => head.role === 'assistant')
  let { roles } = cell
  for (const [index, { head }] of messages.entries()) {
    const isOwn = hasOwn && index >= start
    // A prompt that nothing answers yet may be news that the stream is about to tell.
    if (roleIn(roles, head.id) || (!isOwn && index > answered)) continue
    roles = withRole(roles, { messageID: head.id, role: roleOf(head), run: isOwn ? cell.run : -1 })
  }
  // What the stream still tells of a run that REST knows as over is no new one.
  const trailing = isRunning ? cell.trailing : cell.trailing || !isOpenIn(draft, rootID, sessionID)
  changeCell(draft, cell, { roles, todos: event.todos, idle: !isRunning, trailing })
  step(draft, rootID, { ...event, messages: hasOwn ? messages.slice(start) : [], children: [] })
  draft.queue.push(...event.children)
  resume(draft, sessionID, () => true)
  const reply = getCell(draft, rootID).reply
  const child = sessionID !== rootID && !isRunning && reply ? findReply(reply, sessionID) : undefined
  if (child && child.phase !== 'waiting' && isFinished(child))
    draft.queue.push({ type: 'settle', sessionID, at, by: 'rest' })
}

/** Busy may be what a run was that has ended on the stream since: only what the stream hasn't told opens a reply. */
function hasNews({ roles, run }: Cell, { messages, asks }: SnapshotEvent): boolean {
  return run === 0 || asks.length > 0 || messages.some(({ head }) => !roleIn(roles, head.id))
}

function isOpenIn(draft: Draft, rootID: string, sessionID: string): boolean {
  const root = getCell(draft, rootID).reply
  return root !== undefined && isOpen(findReply(root, sessionID))
}
