import type { Change } from '../change.ts'
import type { SessionScopedEvent } from '../event.ts'
import { findReply } from '../reduce/child.ts'
import { messageIDOf } from '../reduce/message.ts'
import { reduce } from '../reduce/reduce.ts'
import { emptyReply, withFields } from '../reduce/shape.ts'
import type { Reply } from '../reply.ts'
import { diff } from './diff.ts'
import { keepSettledReply } from './forget.ts'
import { type Cell, changeCell, type Draft, getCell, putCell, withReply } from './state.ts'

/**
 * Reduces the root's reply with an event of its tree and records the step. Also counts the runs of sub-agents that
 * begin, and drops the oldest settled reply beyond the limit when this one settles. Does nothing without a reply, or if
 * the event changes nothing.
 */
export function reduceReply(draft: Draft, rootID: string, event: SessionScopedEvent): void {
  const cell = getCell(draft, rootID)
  if (!cell.reply) return
  const { reply, changes, raw } = reduce(cell.reply, event)
  if (reply === cell.reply) return
  putCell(draft, withReply(cell, reply))
  draft.steps.push({ reply, changes: withTakenOver(cell.reply, changes), raw, run: cell.run })
  for (const change of changes) countChildRun(draft, change.type === 'childChanged' ? change.change : change, event.at)
  if (reply.phase === 'settled' && cell.reply.phase !== 'settled') keepSettledReply(draft, rootID)
}

/**
 * Adds the changes for everything that a reply took over from the previous one, because its observers haven't seen
 * that. Returns the same changes unless they begin the reply.
 */
function withTakenOver(before: Reply, changes: readonly Change[]): readonly Change[] {
  const first = changes.length > 0 ? changes[0] : undefined
  if (first?.type !== 'replyStarted') return changes
  return [first, ...diff(emptyReply(before.sessionID), before), ...changes.slice(1)]
}

/**
 * Counts a sub-agent's new run, and does nothing for any other change. Another call may reuse its session, and earlier
 * messages then belong to its previous run. Queues the session's title and directory again if they arrived before there
 * was a reply to store them.
 */
function countChildRun(draft: Draft, change: Change, at: number): void {
  if (change.type !== 'childStarted') return
  const { sessionID, title, directory } = change.child.reply
  const child = getCell(draft, sessionID)
  changeCell(draft, child, { run: child.run + 1, idle: undefined })
  if (!child.known || (child.title === title && child.directory === directory)) return
  draft.queue.unshift({ type: 'session', at, sessionID, title: child.title, directory: child.directory })
}

/**
 * Ensures that the session's run is open: opens the root's reply and each child's on the path where needed. If the root
 * itself begins to work while its reply only continues sub-agents in the background, that reply ends, and they continue
 * in the next one. Does nothing if one of these sessions was deleted.
 */
export function openRun(draft: Draft, path: readonly string[], at: number): void {
  const [rootID, childID] = path
  if (rootID === undefined) return
  const isOwn = childID === undefined
  // Nearly always.
  if (isOwn && hasOpenRun(getCell(draft, rootID))) return
  if (path.some((id) => getCell(draft, id).removed)) return
  // Does nothing to a reply that has settled.
  if (isOwn) reduceReply(draft, rootID, { type: 'settle', sessionID: rootID, by: 'rest', at })
  const root = getCell(draft, rootID)
  if (!isOpen(root.reply))
    changeCell(draft, root, {
      run: root.run + 1,
      idle: undefined,
      endedByRest: false,
      onlyContinues: !isOwn && isOpen(root.reply && findReply(root.reply, childID)),
      reply: nextReply(root),
      past: pastWithNewest(root),
    })
  for (const [depth, childID] of path.entries()) {
    const parentID = path[depth - 1]
    if (parentID === undefined) continue
    const reply = getCell(draft, rootID).reply
    if (isOpen(reply && findReply(reply, childID))) continue
    const { title } = getCell(draft, childID)
    reduceReply(draft, rootID, { type: 'child', sessionID: parentID, childID, title, at })
  }
}

/**
 * Handles work of a background sub-agent after its root's reply has settled: opens the next reply and continues there.
 * Does nothing while the root's reply is open, and for the root itself or a sub-agent that has settled.
 */
export function openForBackgroundWork(draft: Draft, path: readonly string[], event: SessionScopedEvent): void {
  const [rootID] = path
  if (rootID === undefined || path.length === 1) return
  const { reply } = getCell(draft, rootID)
  if (isOpen(reply) || !isOpen(reply && findReply(reply, event.sessionID, messageIDOf(event)))) return
  openRun(draft, path, event.at)
}

/**
 * Applies a late event about a message of an earlier run. A root's message is in the reply of that run. A sub-agent's
 * message may be in any of the root's replies. Does nothing if no kept reply has it.
 */
export function amendPast(draft: Draft, rootID: string, run: number, event: MessageScopedEvent): void {
  const cell = getCell(draft, rootID)
  const { past, reply: newest } = cell
  const isRoot = event.sessionID === rootID
  if (!isRoot && newest && holdsMessage(newest, event)) return reduceReply(draft, rootID, event)
  const at = past.findLastIndex((old) => (isRoot ? old.run === run : holdsMessage(old.reply, event)))
  const before = past[at]
  if (!before) return
  const { reply, changes, raw } = reduce(before.reply, event)
  if (reply === before.reply) return
  changeCell(draft, cell, { reply: newest, past: past.with(at, { run: before.run, reply }) })
  draft.steps.push({ reply, changes, raw, run: before.run })
}

type MessageScopedEvent = Extract<SessionScopedEvent, { type: 'message' | 'part' | 'message-removed' | 'part-removed' }>

/** Whether the reply, or a sub-agent's in it, has the event's message. */
function holdsMessage(reply: Reply, event: MessageScopedEvent): boolean {
  const messageID = messageIDOf(event)
  return messageID !== undefined && findReply(reply, event.sessionID, messageID) !== undefined
}

/** How many earlier replies are kept for late events. A revert may undo several turns at once. */
const keepPast = 8

/**
 * The earlier replies together with the newest one, at most the last `keepPast`. Only the earlier ones if there is no
 * newest.
 */
function pastWithNewest(root: Cell): Cell['past'] {
  return root.reply ? [...root.past, { run: root.run, reply: root.reply }].slice(-keepPast) : root.past
}

/**
 * Whether the root's own run is open. False if its open reply only continues sub-agents in the background, unless that
 * is being aborted: the abort ends it.
 */
export function hasOpenRun({ reply, onlyContinues }: Cell): boolean {
  return isOpen(reply) && (!onlyContinues || reply.aborting !== undefined)
}

/** Whether there is a reply and it has not settled. */
export function isOpen(reply: Reply | undefined): reply is Reply {
  return reply !== undefined && reply.phase !== 'settled'
}

/** Whether the session's own run is open. False if the root's reply doesn't include it. */
export function isOpenIn(draft: Draft, rootID: string, sessionID: string): boolean {
  const root = getCell(draft, rootID).reply
  return root !== undefined && isOpen(findReply(root, sessionID))
}

/** Whether the session's own run is known but has had no events. False if the root's reply doesn't include it. */
export function isWaitingIn(draft: Draft, rootID: string, sessionID: string): boolean {
  const root = getCell(draft, rootID).reply
  return root !== undefined && findReply(root, sessionID)?.phase === 'waiting'
}

/**
 * The first state of the next run's reply: the session's data, and from the reply before it the background sub-agents
 * that still run, the pending asks and the size of the context.
 */
function nextReply(root: Cell): Reply {
  const { title, directory, todos } = root
  const fresh = withFields(emptyReply(root.id), { title, directory, todos })
  if (!root.reply) return fresh
  const children = root.reply.children.filter((child) => child.background && child.reply.phase !== 'settled')
  const asks = root.reply.asks.filter((ask) => ask.status === 'pending')
  const { contextLimit, contextTokens } = root.reply.usage
  return withFields(fresh, { children, asks, usage: { ...fresh.usage, contextLimit, contextTokens } })
}
