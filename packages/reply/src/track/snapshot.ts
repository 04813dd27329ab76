import type { SnapshotEvent } from '../event.ts'
import { childSessionOf, findReply } from '../reduce/child.ts'
import { hasMessageEnded } from '../reduce/message.ts'
import {
  currentRunStart,
  hasChildEnded,
  hasNextPrompt,
  isRunActive,
  messagesUntilNextRun,
  type SessionState,
  showsMissedRun,
  withNewerStreamData,
} from './current-run.ts'
import { requeueHeldEvents } from './held-events.ts'
import { movePrompt, placeRemoval, splitLostRun } from './message.ts'
import { hasOpenRun, isOpen, isOpenIn, isWaitingIn, openRun, reduceReply } from './open-run.ts'
import { goneRun, isBefore, type MessageRoles, roleIn, roleOfHead, withRole } from './roles.ts'
import { isInserted, type ReadMessage, type RunEnd, runEnd, runStarts, withoutUndecided } from './run-boundaries.ts'
import { changeCell, type Draft, getCell } from './state.ts'

/**
 * Places a read over REST: finds the run of each message, and passes the current run's messages to `reduce`.
 *
 * A run is a prompt with everything that the server does for it, up to the next prompt that starts another run. A
 * session's runs follow one another. `cell.run` counts them, and `cell.roles` knows the run of each message seen so
 * far. The last one is the current run, which is open until it settles. In a root session each run is one reply, in a
 * sub-agent's session one child of the root's reply.
 *
 * A read lists a session's newest messages, but not their runs. If it is `partial`, the messages before it are never
 * read and are ignored. Compared with the stream, a read may know
 * - less: the stream continued during the read, so its todos and status are newer. For a `complete` read there were no
 * such events, so anything that it lacks was removed.
 * - more: the stream began during a run, or had a gap. The current run may have messages that the stream never sent, it
 * may have ended, and other runs may have followed it.
 */
export function placeSnapshot(draft: Draft, path: readonly string[], snapshot: SnapshotEvent): void {
  const read = sinceFirstRead(draft, snapshot)
  if (read.complete && path.length === 1) removeReverted(draft, read)
  placeRead(draft, path, read)
  if (showsRunEnd(sessionStateOf(draft, path, read.sessionID), read))
    draft.queue.push({ type: 'settle', sessionID: read.sessionID, at: read.at, by: 'rest' })
}

/**
 * Records where the first partial read of a session began. Leaves out older messages that a later read returns. Returns
 * the same read if there are none.
 */
function sinceFirstRead(draft: Draft, read: SnapshotEvent): SnapshotEvent {
  const cell = getCell(draft, read.sessionID)
  const { roles, readFrom } = cell
  if (readFrom) {
    const first = read.messages.findIndex(({ head }) => !isBefore(head, readFrom) || roleIn(roles, head.id))
    return first < 1 ? read : { ...read, messages: read.messages.slice(first) }
  }
  const head = read.partial && read.messages[0]?.head
  if (head) changeCell(draft, cell, { readFrom: { messageID: head.id, createdAt: head.createdAt } })
  return read
}

/**
 * Removes messages from the settled replies that the complete read of a root session lacks: they were reverted during a
 * gap. Leaves the open reply to `reduce`.
 */
function removeReverted(draft: Draft, { sessionID, messages, at }: SnapshotEvent): void {
  const { past, reply } = getCell(draft, sessionID)
  const settled = [...past.map((earlier) => earlier.reply), ...(reply?.phase === 'settled' ? [reply] : [])]
  const known = settled.flatMap((earlier) => [...earlier.promptIDs, ...earlier.messages.map(({ id }) => id)])
  for (const messageID of known) {
    if (messages.some(({ head }) => head.id === messageID)) continue
    placeRemoval(draft, sessionID, { type: 'message-removed', sessionID, messageID, at })
  }
}

/** Whether the read shows that the current run has ended, and no event will follow that shows it. */
function showsRunEnd({ isRoot, cell, rootReply }: SessionState, read: SnapshotEvent): boolean {
  return isRoot ? hasNextPrompt(cell, read) : hasChildEnded(rootReply, read)
}

/**
 * Places a read: opens or ends runs that the stream missed, passes the current run's messages to its reply, and queues
 * its children and the events that waited for it. A session that was deleted exists again.
 */
function placeRead(draft: Draft, path: readonly string[], snapshot: SnapshotEvent): void {
  const { sessionID, at } = snapshot
  if (path.length === 1) splitRunIfStepLost(draft, snapshot)
  const stateBefore = sessionStateOf(draft, path, sessionID)
  const newest = withNewerStreamData(stateBefore.cell, snapshot)
  const isRunning = isRunActive(newest)
  const decided = withoutUndecidedMessages(stateBefore, newest)
  if (stateBefore.cell.removed) changeCell(draft, stateBefore.cell, { removed: undefined })
  if (!stateBefore.isOpen && showsMissedRun(stateBefore, decided, isRunning)) openRun(draft, path, at)

  const state = sessionStateOf(draft, path, sessionID)
  // A run that has ended has none of the next one's messages.
  const read = state.isOpen ? decided : { ...decided, messages: messagesUntilNextRun(state.cell, decided.messages) }
  const startIndex = currentRunStart(state, read, isRunning)
  const end = startIndex === undefined ? undefined : endOfOpenRun(state, read, startIndex)
  if (end) return placeBothRuns(draft, state, read, end)

  recordRead(draft, state, { read, isRunning, startIndex })
  if (startIndex !== undefined) placeEarlierRuns(draft, path, read)
  const messages = startIndex === undefined ? [] : read.messages.slice(startIndex)
  reduceReply(draft, state.rootID, { ...read, messages, children: [] })
  draft.queue.push(...read.children)
  requeueHeldEvents(draft, sessionID, () => true)
}

/**
 * Splits the open run if its last step never ended although a prompt that seemed to join it was answered by another
 * step. Does nothing otherwise.
 */
function splitRunIfStepLost(draft: Draft, { sessionID, messages, at }: SnapshotEvent): void {
  const { reply, roles } = getCell(draft, sessionID)
  const lastIndex = isOpen(reply) ? messages.findIndex(({ head }) => head.id === reply.messages.at(-1)?.id) : -1
  const last = messages[lastIndex]?.head
  if (!reply || !last || hasMessageEnded(last)) return
  const next = messages.slice(lastIndex + 1).find(({ head }) => head.role === 'assistant' && !head.summary)
  const parentID = next?.head.parentID
  if (parentID === undefined || !roleIn(roles, parentID)) return
  splitLostRun(draft, sessionID, parentID, at)
}

/** Collects what is known of a session: its cell, its root's reply, and whether its own run is open. */
function sessionStateOf(draft: Draft, path: readonly string[], sessionID: string): SessionState {
  const [rootID = sessionID] = path
  const isRoot = sessionID === rootID
  const cell = getCell(draft, sessionID)
  return {
    path,
    rootID,
    isRoot,
    cell,
    rootReply: getCell(draft, rootID).reply,
    isOpen: isRoot ? hasOpenRun(cell) : isOpenIn(draft, rootID, sessionID),
  }
}

/**
 * Leaves out messages at the end whose run isn't known yet. For a sub-agent's settled run also those of its session's
 * next run.
 */
function withoutUndecidedMessages({ cell, isRoot, isOpen }: SessionState, read: SnapshotEvent): SnapshotEvent {
  const decided = withoutUndecided(read, (id) => roleIn(cell.roles, id) !== undefined)
  return { ...read, messages: isRoot || isOpen ? decided : messagesUntilNextRun(cell, decided) }
}

/**
 * Where the root's open run, which begins at the message `startIndex`, ends in the read because another run follows it.
 * Then each is placed by itself. Undefined if no run follows or none is open, and for a sub-agent, whose earlier runs
 * `placeEarlierRuns` places.
 */
function endOfOpenRun(
  { isRoot, isOpen, cell }: SessionState,
  read: SnapshotEvent,
  startIndex: number,
): RunEnd | undefined {
  if (!isRoot || !isOpen) return undefined
  return runEnd(read, startIndex, (id) => roleIn(cell.roles, id)?.run === cell.run)
}

/**
 * Places a read in which another run follows the open one: places each like a read of its own, and settles the first in
 * between. The second opens a reply of its own, and takes the prompts that seemed to join the first.
 */
function placeBothRuns(
  draft: Draft,
  { path, rootID, cell }: SessionState,
  read: SnapshotEvent,
  { nextIndex, by }: RunEnd,
): void {
  const { sessionID, at, messages } = read
  const next = messages.slice(nextIndex)
  const moved = next.map(({ head }) => head.id).filter((id) => roleIn(cell.roles, id)?.run === cell.run)
  // Before the first run settles, so that no one takes its end for that of these prompts.
  for (const messageID of moved) reduceReply(draft, rootID, { type: 'message-removed', sessionID, messageID, at })
  placeRead(draft, path, { ...read, messages: messages.slice(0, nextIndex), status: 'idle', asks: [], children: [] })
  reduceReply(draft, rootID, { type: 'settle', sessionID, at, by })
  // The next run gets its own reply even if it has ended by now.
  if (!isOpenIn(draft, rootID, sessionID)) openRun(draft, path, at)
  for (const messageID of moved) movePrompt(draft, rootID, messageID, at)
  placeRead(draft, path, { ...read, messages: next })
}

interface PlacedRead {
  readonly read: SnapshotEvent
  readonly isRunning: boolean
  /** Index of the current run's first message. Undefined if the read has no message of it. */
  readonly startIndex: number | undefined
}

/**
 * Records the read in the cell: the todos, the runs of the messages, whether the session is idle, whether its run ended
 * without the stream, and when the prompt of a run that only the read shows was created.
 */
function recordRead(draft: Draft, state: SessionState, placed: PlacedRead): void {
  const { cell, rootID, isOpen } = state
  const { read, isRunning, startIndex } = placed
  // Later stream events of a run that has ended according to REST don't start a new one.
  const isSeenOver = !isRunning && (!isOpen || isWaitingIn(draft, rootID, cell.id))
  const first = startIndex === undefined ? undefined : read.messages[startIndex]?.head
  const isNew = first?.role === 'user' && !roleIn(cell.roles, first.id)
  changeCell(draft, cell, {
    promptedAt: isNew ? first.createdAt : cell.promptedAt,
    roles: rolesAfter(state, placed),
    todos: read.todos,
    idle: isRunning ? undefined : (cell.idle ?? 'read'),
    endedByRest: cell.endedByRest || isSeenOver,
    read: true,
    streamEpoch: continuesAfterFullContext(read) ? draft.state.epoch : cell.streamEpoch,
  })
}

/**
 * Whether the session is busy because its context was full: after a step that ended without a finish, or after the
 * compaction that follows. The next prompt is the server's own and doesn't begin another run.
 */
function continuesAfterFullContext({ status, messages }: SnapshotEvent): boolean {
  const last = messages.at(-1)?.head
  if (status !== 'busy' || last?.role !== 'assistant' || last.completedAt === undefined) return false
  if (last.error !== undefined) return false
  return last.summary ? isInserted(messages.at(-2)?.parts ?? []) : last.finish === undefined
}

/**
 * The cell's roles with those of the read messages that have none: of the current run from `startIndex` on, of
 * `goneRun` before it. Leaves out prompts that the stream may still send. Also moves the message at `startIndex` from
 * `goneRun` to the current run.
 */
function rolesAfter(
  { cell, isRoot, rootReply }: SessionState,
  { read: { messages }, startIndex }: PlacedRead,
): MessageRoles {
  const lastAnswerIndex = messages.findLastIndex(({ head }) => head.role === 'assistant')
  // A sub-agent may end before its task's part names it. The run of its messages is about to be known.
  const isExpected = !isRoot && isOpen(rootReply)
  let { roles } = cell
  for (const [index, { head }] of messages.entries()) {
    const isOwn = startIndex !== undefined && index >= startIndex
    const role = roleIn(roles, head.id)
    // A current run may begin with a message that seemed to be of an old one.
    if (role && (role.run !== goneRun || index !== startIndex)) continue
    // An unanswered prompt may be a new one that the stream is about to send.
    if (!isOwn && (isExpected || index > lastAnswerIndex)) continue
    roles = withRole(roles, { messageID: head.id, role: roleOfHead(head), run: isOwn ? cell.run : goneRun })
  }
  return roles
}

/**
 * Places the earlier runs of reused sub-agent sessions that had no events, as settled. Skips sub-agents that the root's
 * reply includes.
 */
function placeEarlierRuns(draft: Draft, path: readonly string[], read: SnapshotEvent): void {
  const [rootID = read.sessionID] = path
  for (const { parent, child } of earlierRuns(read)) {
    const { sessionID, at } = child
    const rootReply = getCell(draft, rootID).reply
    if (rootReply && findReply(rootReply, sessionID)) continue
    if (parent) reduceReply(draft, rootID, parent)
    openRun(draft, [...path, sessionID], at)
    placeRead(draft, [...path, sessionID], child)
    reduceReply(draft, rootID, { type: 'settle', sessionID, at, by: 'rest' })
  }
}

/** A sub-agent's run that had ended before its session was reused, as read over REST. */
interface EarlierRun {
  /** The parent as it was at the end of the run. Undefined if none of its calls names the run. */
  readonly parent: SnapshotEvent | undefined
  readonly child: SnapshotEvent
}

/**
 * All but the last run of each sub-agent's session, in order, each with the call that began it. Several calls may use a
 * session one after the other.
 */
function earlierRuns(parent: SnapshotEvent): readonly EarlierRun[] {
  return parent.children.flatMap((child) => {
    const calls = parent.messages.flatMap(({ parts }, messageIndex) =>
      parts.flatMap((part, partIndex) =>
        childSessionOf(part) === child.sessionID ? [{ messageIndex, partIndex }] : [],
      ),
    )
    const starts = runStarts(child.messages)
    const earlier = Math.max(calls.length, starts.length) - 1
    return Array.from({ length: Math.max(0, earlier) }, (_, index): EarlierRun => {
      const call = calls[index]
      const start = starts[index]
      const messages = start === undefined ? [] : child.messages.slice(start, starts[index + 1])
      const alone = { complete: false, children: [], asks: [] }
      return {
        parent: call && {
          ...parent,
          ...alone,
          messages: messagesUpTo(parent.messages, call.messageIndex, call.partIndex),
        },
        child: { ...child, ...alone, messages, status: 'idle' },
      }
    })
  })
}

/** The messages up to this part of this message, both included. */
function messagesUpTo(
  messages: readonly ReadMessage[],
  messageIndex: number,
  partIndex: number,
): readonly ReadMessage[] {
  return messages
    .slice(0, messageIndex + 1)
    .map((message, index) =>
      index < messageIndex ? message : { ...message, parts: message.parts.slice(0, partIndex + 1) },
    )
}
