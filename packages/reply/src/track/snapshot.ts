import type { MessageHead, SnapshotEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { findReply } from '../reduce/child.ts'
import { resume } from './hold.ts'
import { isOpen, open, step } from './open.ts'
import { roleIn, roleOf, withRole } from './roles.ts'
import { type Cell, changeCell, type Draft, getCell } from './state.ts'

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
  const stranded = isOpen(getCell(draft, rootID).reply) ? strandedBefore(event, getCell(draft, sessionID)) : -1
  if (stranded !== -1 && sessionID === rootID) {
    placeSnapshot(draft, path, {
      ...event,
      messages: messages.slice(0, stranded),
      status: 'idle',
      asks: [],
      children: [],
    })
    step(draft, rootID, { type: 'settle', sessionID, at, by: 'lost' })
  }
  const isRunning = event.status !== 'idle' || event.asks.length > 0
  if (isRunning && !isOpenIn(draft, rootID, sessionID)) open(draft, path, at)
  const cell = getCell(draft, sessionID)
  const known = messages.findIndex(({ head }) => roleIn(cell.roles, head.id)?.run === cell.run)
  const older = messages.findLastIndex(({ head }) => (roleIn(cell.roles, head.id)?.run ?? cell.run) !== cell.run)
  const start = known === -1 ? Math.max(runStart(messages), older + 1) : known
  const hasOwn = isRunning || known !== -1 || isOpenIn(draft, rootID, sessionID)
  const answered = messages.findLastIndex(({ head }) => head.role === 'assistant')
  let { roles } = cell
  for (const [index, { head }] of messages.entries()) {
    const isOwn = hasOwn && index >= start
    // A prompt that nothing answers yet may be news that the stream is about to tell.
    if (roleIn(roles, head.id) || (!isOwn && index > answered)) continue
    roles = withRole(roles, { messageID: head.id, role: roleOf(head), run: isOwn ? cell.run : -1 })
  }
  changeCell(draft, cell, { roles, todos: event.todos, idle: !isRunning })
  const own = hasOwn ? messages.slice(start) : []
  step(draft, rootID, { ...event, messages: own, children: [] })
  draft.queue.push(...event.children)
  resume(draft, sessionID, () => true)
}

/**
 * The prompt before which the run was lost: a step never ended, yet the session is idle or another step has begun after
 * the prompt. Only a server that was restarted leaves that behind. -1 without one.
 */
function strandedBefore({ messages, status }: SnapshotEvent, { roles, run }: Cell): number {
  const isOfRun = (id: string): boolean => (roleIn(roles, id)?.run ?? run) === run
  const open = messages.findIndex(({ head }) => head.role === 'assistant' && !hasEnded(head) && isOfRun(head.id))
  const next = messages.findIndex(({ head }, index) => open !== -1 && index > open && head.role === 'user')
  if (next === -1) return -1
  const goesOn = messages.some(({ head }, index) => index > next && head.role === 'assistant')
  return status === 'idle' || goesOn ? next : -1
}

function hasEnded(head: MessageHead): boolean {
  return head.completedAt !== undefined || head.error !== undefined
}

function isOpenIn(draft: Draft, rootID: string, sessionID: string): boolean {
  const root = getCell(draft, rootID).reply
  return root !== undefined && isOpen(findReply(root, sessionID))
}
