import type { SnapshotEvent } from '../event.ts'
import { findReply } from '../reduce/child.ts'
import { isFinished } from '../reduce/settle.ts'
import type { Reply } from '../reply.ts'
import { resume } from './hold.ts'
import { placeRemoval } from './message.ts'
import { isOpen, isOpenIn, isWaitingIn, open, step } from './open.ts'
import { earlierRuns } from './resumed.ts'
import { isBefore, roleIn, roleOf, withRole } from './roles.ts'
import { runEnd, runStart, runStarts, withoutUndecided } from './runs.ts'
import { type Cell, changeCell, type Draft, getCell } from './state.ts'

/**
 * Places a read over REST. Passes only the current run's messages to `reduce`, and remembers the ids of older ones. If
 * the open run has ended and another has begun in the meantime, each is placed separately.
 */
export function placeSnapshot(draft: Draft, path: readonly string[], given: SnapshotEvent): void {
  const event = fromReadFrom(draft, given)
  if (event.complete && path.length === 1) removeFromPast(draft, event)
  placeRead(draft, path, event)
  const { sessionID, at, status } = event
  const root = path.length > 1 && status === 'idle' ? getCell(draft, path[0] ?? sessionID).reply : undefined
  const child = root && findReply(root, sessionID)
  if (child && child.phase !== 'waiting' && isFinished(child))
    draft.queue.push({ type: 'settle', sessionID, at, by: 'rest' })
  if (path.length === 1 && hasNextBegun(getCell(draft, sessionID), event))
    draft.queue.push({ type: 'settle', sessionID, at, by: 'rest' })
}

/** Records where the first partial read of a session began. Leaves out older messages that a later read returns. */
function fromReadFrom(draft: Draft, event: SnapshotEvent): SnapshotEvent {
  const cell = getCell(draft, event.sessionID)
  const { roles, readFrom } = cell
  if (readFrom) {
    const first = event.messages.findIndex(({ head }) => !isBefore(head, readFrom) || roleIn(roles, head.id))
    return first < 1 ? event : { ...event, messages: event.messages.slice(first) }
  }
  const head = event.partial && event.messages[0]?.head
  if (head) changeCell(draft, cell, { readFrom: { messageID: head.id, createdAt: head.createdAt } })
  return event
}

/**
 * The run is over, and the next run's prompt exists without anything else: stream events from now on belong to the next
 * run.
 */
function hasNextBegun({ reply, roles }: Cell, { complete, status, messages, children }: SnapshotEvent): boolean {
  if (!complete || status !== 'idle' || children.some((child) => child.status !== 'idle')) return false
  if (!isOpen(reply) || reply.phase === 'waiting' || !isFinished(reply)) return false
  const last = messages.at(-1)?.head
  return last?.role === 'user' && roleIn(roles, last.id) === undefined
}

function placeRead(draft: Draft, path: readonly string[], given: SnapshotEvent): void {
  const { sessionID, at } = given
  const rootID = path[0] ?? sessionID
  const before = getCell(draft, sessionID)
  const read = withNewer(before, given)
  const isRunning = read.status !== 'idle' || isEnding(read)
  const decided = withoutUndecided(read, (id) => roleIn(before.roles, id) !== undefined)
  const messages = sessionID === rootID || isOpenIn(draft, rootID, sessionID) ? decided : untilNextRun(before, decided)
  const event = { ...read, messages }
  if (before.removed) changeCell(draft, before, { removed: undefined })
  const isNews =
    (isRunning && hasNews(before, event)) ||
    (sessionID === rootID ? firstMissed(before, event) !== -1 : isOfRun(before, getCell(draft, rootID).reply))
  if (isNews && !isOpenIn(draft, rootID, sessionID)) open(draft, path, at)
  const cell = getCell(draft, sessionID)
  const known = firstKnown(cell, event)
  const older = messages.findLastIndex(({ head }) => (roleIn(cell.roles, head.id)?.run ?? cell.run) !== cell.run)
  const missed = firstMissed(cell, event)
  const start = known === -1 ? Math.max(missed === -1 ? runStart(messages) : missed, older + 1) : known
  const hasOwn = isRunning || known !== -1 || isOpenIn(draft, rootID, sessionID) || lacksPrompt(cell, event)
  const isOwnRun = (id: string): boolean => roleIn(cell.roles, id)?.run === cell.run
  const end = sessionID === rootID && isOpen(cell.reply) ? runEnd(event, start, isOwnRun) : undefined
  if (end) {
    const { next, by } = end
    const run = { ...event, messages: messages.slice(0, next), status: 'idle' as const, asks: [], children: [] }
    placeRead(draft, path, run)
    step(draft, rootID, { type: 'settle', sessionID, at, by })
    // What began after it is placed as a separate run, even if it has ended by now.
    if (!isOpenIn(draft, rootID, sessionID)) open(draft, path, at)
    return placeRead(draft, path, { ...event, messages: messages.slice(next) })
  }
  const answered = messages.findLastIndex(({ head }) => head.role === 'assistant')
  let { roles } = cell
  for (const [index, { head }] of messages.entries()) {
    const isOwn = hasOwn && index >= start
    const isKnown = (roleIn(roles, head.id)?.run ?? -1) !== -1 || (roleIn(roles, head.id) && index !== start)
    // An unanswered prompt may be news that the stream is about to send.
    if (isKnown || (!isOwn && index > answered)) continue
    // A sub-agent's messages that ended before its task's part named it belong to a run that is about to be known.
    if (!isOwn && sessionID !== rootID && isOpenIn(draft, rootID, rootID)) continue
    roles = withRole(roles, { messageID: head.id, role: roleOf(head), run: isOwn ? cell.run : -1 })
  }
  // Later stream events of a run that REST shows as over don't start a new one.
  const trailing = isRunning
    ? cell.trailing
    : cell.trailing || !isOpenIn(draft, rootID, sessionID) || isWaitingIn(draft, rootID, sessionID)
  changeCell(draft, cell, {
    roles,
    todos: event.todos,
    idle: isRunning ? undefined : (cell.idle ?? 'read'),
    trailing,
    read: true,
  })
  if (hasOwn) placeEarlier(draft, path, event)
  step(draft, rootID, { ...event, messages: hasOwn ? messages.slice(start) : [], children: [] })
  draft.queue.push(...event.children)
  resume(draft, sessionID, () => true)
}

/** Whether it is a sub-agent of the current run without any events. */
function isOfRun({ run, createdAt = -1 }: Cell, root: Reply | undefined): boolean {
  const startedAt = root?.messages[0]?.createdAt
  return run === 0 && isOpen(root) && startedAt !== undefined && createdAt >= startedAt
}

/** Idle with an open step while sub-agents are still at work: the run is being ended. */
function isEnding({ messages, children }: SnapshotEvent): boolean {
  const last = messages.findLast(({ head }) => head.role === 'assistant')?.head
  const isOpenStep = last !== undefined && last.completedAt === undefined && last.error === undefined
  return isOpenStep && children.some(({ status }) => status !== 'idle')
}

/**
 * Messages of a sub-agent's settled run, without its session's next run: the stream will say which call that belongs
 * to.
 */
function untilNextRun({ roles, run }: Cell, messages: SnapshotEvent['messages']): SnapshotEvent['messages'] {
  const known = messages.findIndex(({ head }) => roleIn(roles, head.id)?.run === run)
  const next = known === -1 ? undefined : runStarts(messages).find((start) => start > known)
  return next === undefined ? messages : messages.slice(0, next)
}

/** Where the run begins, as far as known: at the prompt of its first message. -1 if none is known. */
function firstKnown({ roles, run }: Cell, { messages }: SnapshotEvent): number {
  const at = messages.findIndex(({ head }) => roleIn(roles, head.id)?.run === run)
  const [prompt, first] = [messages[at - 1]?.head, messages[at]?.head]
  const isUntold = prompt !== undefined && first?.parentID === prompt.id && (roleIn(roles, prompt.id)?.run ?? -1) === -1
  return isUntold ? at - 1 : at
}

/** Stream events during the read are newer than what was read. */
function withNewer({ todos, todosAt = -1, statusAt = -1, idle }: Cell, read: SnapshotEvent): SnapshotEvent {
  const { readAt, complete, status } = read
  if (readAt === undefined || complete) return read
  const newer = todosAt >= readAt ? { ...read, todos } : read
  if (statusAt < readAt || (idle !== undefined) === (status === 'idle')) return newer
  const { retry: _, ...settled } = newer
  return idle === undefined ? { ...newer, status: 'busy' } : { ...settled, status: 'idle', asks: [] }
}

/**
 * A busy status may be from a run that has ended on the stream since: only content that the stream hasn't sent opens a
 * reply.
 */
function hasNews({ roles, run, reply }: Cell, { messages, asks }: SnapshotEvent): boolean {
  const isAsked = asks.some(({ requestID }) => !reply?.asks.some((known) => known.requestID === requestID))
  return run === 0 || isAsked || messages.some(({ head }) => !roleIn(roles, head.id))
}

/** Whether the last message is the prompt of a run whose error was its only event. */
function lacksPrompt({ reply, run, roles }: Cell, { messages }: SnapshotEvent): boolean {
  const last = messages.at(-1)?.head
  if (!reply || last?.role !== 'user' || roleIn(roles, last.id)) return false
  return run > 0 && reply.promptIDs.length === 0 && reply.messages.length === 0
}

/** Places the earlier runs of reused sub-agent sessions that had no events. */
function placeEarlier(draft: Draft, path: readonly string[], event: SnapshotEvent): void {
  const [rootID = event.sessionID] = path
  for (const { parent, child } of earlierRuns(event)) {
    const { sessionID, at } = child
    const root = getCell(draft, rootID).reply
    if (root && findReply(root, sessionID)) continue
    if (parent) step(draft, rootID, parent)
    open(draft, [...path, sessionID], at)
    placeRead(draft, [...path, sessionID], child)
    step(draft, rootID, { type: 'settle', sessionID, at, by: 'rest' })
  }
}

/** Removes messages of earlier runs that the server no longer has: they were reverted during a gap. */
function removeFromPast(draft: Draft, { sessionID, messages, at }: SnapshotEvent): void {
  const cell = getCell(draft, sessionID)
  const settled = cell.reply?.phase === 'settled' ? [cell.reply] : []
  const gone = [...cell.past.map(({ reply }) => reply), ...settled].flatMap((reply) =>
    [...reply.promptIDs, ...reply.messages.map(({ id }) => id)].filter(
      (id) => !messages.some(({ head }) => head.id === id),
    ),
  )
  for (const messageID of gone) placeRemoval(draft, sessionID, { type: 'message-removed', sessionID, messageID, at })
}

/**
 * Start of the first run with messages missed during a gap, ignoring copies at the beginning of a fork; -1 if there is
 * none.
 */
function firstMissed({ roles, createdAt = 0 }: Cell, { messages, since }: SnapshotEvent): number {
  if (since === undefined) return -1
  const from = Math.max(since, createdAt - 1)
  const missed = messages.findIndex(({ head }) => (head.createdAt ?? 0) > from && !roleIn(roles, head.id))
  return runStarts(messages).findLast((start) => start <= missed) ?? -1
}
