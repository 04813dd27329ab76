import type { MessageHead, SnapshotEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { findReply } from '../reduce/child.ts'
import { resume } from './hold.ts'
import { isOpen, open, step } from './open.ts'
import { roleIn, roleOf, withRole } from './roles.ts'
import { changeCell, type Draft, getCell } from './state.ts'

type Read = SnapshotEvent['messages'][number]

/**
 * Where the session's last run begins among its messages: at the last user message that no unfinished step leads up to.
 * A message that the server itself put in, as after a compaction, goes on with the run. -1 without messages.
 */
export function runStart(messages: readonly Read[]): number {
  let start = messages.findLastIndex((message) => message.head.role === 'user')
  while (start > 0) {
    const asked = messages[start]
    const before = messages[start - 1]
    if (!asked || !before || (isOver(before.head) && !isInserted(asked.parts))) return start
    start = messages.findLastIndex((message, index) => index < start && message.head.role === 'user')
  }
  return start
}

function isOver(head: MessageHead): boolean {
  if (head.role === 'user' || head.summary) return false
  return head.error !== undefined || (head.completedAt !== undefined && head.finish !== 'tool-calls')
}

function isInserted(parts: readonly Part[]): boolean {
  return (
    parts.length > 0 &&
    parts.every((part) => part.type === 'compaction' || (part.type === 'text' && part.synthetic === true))
  )
}

/** A reading over REST: of the messages only the run's own go on to `reduce`; of the older ones the ids are remembered. */
export function placeSnapshot(draft: Draft, path: readonly string[], event: SnapshotEvent): void {
  const { sessionID, messages, at } = event
  const rootID = path[0] ?? sessionID
  const isRunning = event.status !== 'idle' || event.asks.length > 0
  const current = getCell(draft, rootID).reply
  if (isRunning && !isOpen(current && findReply(current, sessionID))) open(draft, path, at)
  const cell = getCell(draft, sessionID)
  const reply = current && findReply(current, sessionID)
  const known = messages.findIndex(({ head }) => roleIn(cell.roles, head.id)?.run === cell.run)
  const older = messages.findLastIndex(({ head }) => (roleIn(cell.roles, head.id)?.run ?? cell.run) !== cell.run)
  const start = known === -1 ? Math.max(runStart(messages), older + 1) : known
  const isOwn = (index: number): boolean => (isRunning || isOpen(reply) || known !== -1) && index >= start
  let { roles } = cell
  for (const [index, { head }] of messages.entries()) {
    if (!roleIn(roles, head.id))
      roles = withRole(roles, { messageID: head.id, role: roleOf(head), run: isOwn(index) ? cell.run : -1 })
  }
  changeCell(draft, cell, { roles, todos: event.todos, idle: !isRunning })
  const own = messages.filter((_, index) => isOwn(index))
  step(draft, rootID, { ...event, messages: own, children: [] })
  draft.queue.push(...event.children)
  resume(draft, sessionID, () => true)
}
