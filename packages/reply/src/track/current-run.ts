import type { SnapshotEvent } from '../event.ts'
import { findReply } from '../reduce/child.ts'
import { hasMessageEnded } from '../reduce/message.ts'
import { isFinished } from '../reduce/settle.ts'
import type { Reply } from '../reply.ts'
import { isOpen } from './open-run.ts'
import { beginsWithAnswer, goneRun, type MessageRoles, roleIn } from './roles.ts'
import { lastRunStart, type ReadMessage, runStarts } from './run-boundaries.ts'
import type { Cell } from './state.ts'

/** The known state of a session when a read of it is placed. */
export interface SessionState {
  /** The sessions from the root down to this one. */
  readonly path: readonly string[]
  readonly rootID: string
  readonly isRoot: boolean
  readonly cell: Cell
  /** The root's newest reply. */
  readonly rootReply: Reply | undefined
  /** Whether the session's current run is open. */
  readonly isOpen: boolean
}

/**
 * Returns the read with the todos and the status that the stream has sent since the read began. With a newer idle
 * status, it has no retry and no asks. Returns the same read if it is complete, has no `readAt`, or nothing is newer.
 */
export function withNewerStreamData(
  { todos, todosAt = -1, statusAt = -1, idle }: Cell,
  read: SnapshotEvent,
): SnapshotEvent {
  const { readAt, complete, status } = read
  if (readAt === undefined || complete) return read
  const newer = todosAt >= readAt ? { ...read, todos } : read
  const isIdle = idle !== undefined
  if (statusAt < readAt || isIdle === (status === 'idle')) return newer
  if (!isIdle) return { ...newer, status: 'busy' }
  const { retry: _, ...settled } = newer
  return { ...settled, status: 'idle', asks: [] }
}

/**
 * Whether the run continues: the session isn't idle, or it is idle with an open step while one of its sub-agents still
 * runs. The run is then being aborted.
 */
export function isRunActive({ status, messages, children }: SnapshotEvent): boolean {
  if (status !== 'idle') return true
  const last = messages.findLast(({ head }) => head.role === 'assistant')?.head
  const isOpenStep = last !== undefined && !hasMessageEnded(last)
  return isOpenStep && children.some((child) => child.status !== 'idle')
}

/**
 * The messages of a sub-agent's settled run, with those before it and without its session's next run. The stream will
 * name the call that the next run belongs to. All messages if no run follows, or none of the run's messages was read.
 */
export function messagesUntilNextRun({ roles, run }: Cell, messages: readonly ReadMessage[]): readonly ReadMessage[] {
  const knownIndex = messages.findIndex(({ head }) => roleIn(roles, head.id)?.run === run)
  const nextIndex = knownIndex === -1 ? undefined : runStarts(messages).find((start) => start > knownIndex)
  return nextIndex === undefined ? messages : messages.slice(0, nextIndex)
}

/**
 * Whether a session without an open run has one, or had one, that the stream didn't report: a running session has
 * unknown work, a root has messages from a gap, or a sub-agent was created in the root's open run and has none.
 */
export function showsMissedRun(
  { cell, isRoot, rootReply }: SessionState,
  read: SnapshotEvent,
  isRunning: boolean,
): boolean {
  if (isRunning && hasUnknownWork(cell, read)) return true
  return isRoot ? missedRunStart(cell, read) !== undefined : isMissedChild(cell, rootReply)
}

/**
 * Whether the read has a message or ask that the stream didn't report, or the session is new. A busy status alone opens
 * no run in a known session. It may be from a run that has ended on the stream since, or from an execution without
 * work.
 */
function hasUnknownWork({ roles, run, read, reply }: Cell, { messages, asks }: SnapshotEvent): boolean {
  if ((run === 0 && !read) || messages.some(({ head }) => isNewMessage(roles, head, messages))) return true
  return asks.some(({ requestID }) => !reply?.asks.some((known) => known.requestID === requestID))
}

/** Whether the session was created during the root's open run and has had no run itself. */
function isMissedChild({ run, createdAt = -1 }: Cell, rootReply: Reply | undefined): boolean {
  const startedAt = rootReply?.messages[0]?.createdAt
  return run === 0 && isOpen(rootReply) && startedAt !== undefined && createdAt >= startedAt
}

/**
 * Index of the current run's first message. It may equal the length if that message is not read yet. If none of its
 * messages is known, the run begins after those of other runs, at the first missed run or else at the last one.
 * Undefined if the read has no message of the run, or is older than the open run of a root.
 */
export function currentRunStart(
  { cell, isRoot, isOpen }: SessionState,
  read: SnapshotEvent,
  isRunning: boolean,
): number | undefined {
  const known = knownRunStart(cell, read)
  if (known !== undefined) return known
  if (isRoot && isOpen && isOlderThanRun(cell, read)) return undefined
  if (!isRunning && !isOpen && !hasMissedPrompt(cell, read)) return undefined
  const lastOfOthers = read.messages.findLastIndex(
    ({ head }) => (roleIn(cell.roles, head.id)?.run ?? cell.run) !== cell.run,
  )
  return Math.max(missedRunStart(cell, read) ?? lastRunStart(read.messages), lastOfOthers + 1)
}

/**
 * Whether all messages of the read are older than the first step of the run, whose prompt is known. They belong to
 * earlier runs, which other clients may have begun: the read is older than the run, or the run was reverted since.
 * False without a step or without times.
 */
function isOlderThanRun(cell: Cell, { messages }: SnapshotEvent): boolean {
  const begunAt = cell.reply?.messages[0]?.createdAt
  if (begunAt === undefined || beginsWithAnswer(cell)) return false
  return messages.every(({ head }) => head.createdAt !== undefined && head.createdAt < begunAt)
}

/**
 * The index where the run begins according to its known messages, or to the prompt that the first of them answers. A
 * run that began before we listened may have begun even earlier: that prompt may have joined it. Undefined if no
 * message of the run was read.
 */
function knownRunStart(cell: Cell, { messages }: SnapshotEvent): number | undefined {
  const { roles, run } = cell
  const firstIndex = messages.findIndex(({ head }) => roleIn(roles, head.id)?.run === run)
  if (firstIndex === -1) return undefined
  const isOfOtherRun = ({ head }: ReadMessage): boolean => (roleIn(roles, head.id)?.run ?? goneRun) !== goneRun
  if (!cell.read && beginsWithAnswer(cell)) {
    const start = runStarts(messages).findLast((each) => each <= firstIndex)
    return Math.max(start ?? firstIndex, messages.slice(0, firstIndex).findLastIndex(isOfOtherRun) + 1)
  }
  const prompt = messages[firstIndex - 1]
  const first = messages[firstIndex]?.head
  if (!prompt || first?.parentID !== prompt.head.id) return firstIndex
  return isOfOtherRun(prompt) ? firstIndex : firstIndex - 1
}

/**
 * The index where the first run with messages missed during a gap begins. Ignores copies at the beginning of a fork. A
 * message after a known one was missed whatever its time, because the server's clock may have been set back. Undefined
 * without `since`, and if no message was missed.
 */
function missedRunStart({ roles, createdAt = 0 }: Cell, { messages, since }: SnapshotEvent): number | undefined {
  if (since === undefined) return undefined
  const from = Math.max(since, createdAt - 1)
  const lastKnownIndex = messages.findLastIndex(({ head }) => (roleIn(roles, head.id)?.run ?? goneRun) !== goneRun)
  const missedIndex = messages.findIndex(({ head }, at) => {
    const isLater = (head.createdAt ?? 0) > from || (lastKnownIndex !== -1 && at > lastKnownIndex)
    return isLater && isNewMessage(roles, head, messages)
  })
  return runStarts(messages).findLast((start) => start <= missedIndex)
}

/** Whether the stream has not reported the message. A missed prompt is not new if the stream reported its answer. */
function isNewMessage(roles: MessageRoles, { id }: ReadMessage['head'], messages: readonly ReadMessage[]): boolean {
  const isKnown = (messageID: string): boolean => (roleIn(roles, messageID)?.run ?? goneRun) !== goneRun
  return !roleIn(roles, id) && !messages.some(({ head }) => head.parentID === id && isKnown(head.id))
}

/**
 * Whether the last message is an unknown prompt, and the newest reply has no messages: its error was the only event of
 * that prompt's run. False if that reply only continues sub-agents in the background.
 */
function hasMissedPrompt({ reply, run, roles, onlyContinues }: Cell, { messages }: SnapshotEvent): boolean {
  const last = messages.at(-1)?.head
  if (!reply || last?.role !== 'user' || roleIn(roles, last.id)) return false
  return run > 0 && reply.promptIDs.length === 0 && reply.messages.length === 0 && !onlyContinues
}

/**
 * Whether a sub-agent's run has ended: it began, the session is idle, and every step of it has ended. False if the
 * root's reply doesn't include it.
 */
export function hasChildEnded(rootReply: Reply | undefined, { sessionID, status }: SnapshotEvent): boolean {
  const child = rootReply && status === 'idle' ? findReply(rootReply, sessionID) : undefined
  return child !== undefined && child.phase !== 'waiting' && isFinished(child)
}

/**
 * Whether the open run has ended and the next run has its prompt but no other message. Stream events from now on belong
 * to the next run. False unless the read is complete, and the session and its sub-agents are idle.
 */
export function hasNextPrompt(
  { reply, roles }: Cell,
  { complete, status, messages, children }: SnapshotEvent,
): boolean {
  if (!complete || status !== 'idle' || children.some((child) => child.status !== 'idle')) return false
  if (!isOpen(reply) || reply.phase === 'waiting' || !isFinished(reply)) return false
  const last = messages.at(-1)?.head
  return last?.role === 'user' && roleIn(roles, last.id) === undefined
}
