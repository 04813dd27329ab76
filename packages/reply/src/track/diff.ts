import { hasSameContent } from '../ask/equal.ts'
import type { Change } from '../change.ts'
import { same, sameButRaw, sameHead } from '../fields.ts'
import type { Part } from '../part.ts'
import { changeOfAsk } from '../reduce/ask.ts'
import { askIndexOf } from '../reduce/ask-list.ts'
import { reportChild } from '../reduce/child.ts'
import { indexInReply, messageIndexOf, reportChangedPart, reportNewPart } from '../reduce/part.ts'
import { partAt, partIndexOf } from '../reduce/part-list.ts'
import { emptyReply } from '../reduce/shape.ts'
import type { Message, Reply } from '../reply.ts'

/**
 * Returns the changes from one state of a reply to another, as observers would have received them. Start from
 * `emptyReply` to get everything that a late observer missed. Empty if nothing differs. Text that grew is one delta.
 * From a settled reply, all differences are one `replyAmended`.
 */
export function diff(before: Reply, after: Reply): readonly Change[] {
  if (before === after) return []
  if (before.phase === 'settled') return same(before, after) ? [] : [{ type: 'replyAmended' }]
  const changes: Change[] = []
  if (before.startedAt === undefined && after.startedAt !== undefined) changes.push({ type: 'replyStarted' })
  for (const message of before.messages)
    if (messageIndexOf(after.messages, message.id) === -1) reportRemovedMessage(before, message, changes)
  for (const [messageIndex, message] of after.messages.entries())
    reportMessageDiff(before, after, { message, messageIndex }, changes)
  reportOwnFields(before, after, changes)
  reportChildrenDiff(before, after, changes)
  for (const ask of after.asks) {
    const known = before.asks[askIndexOf(before.asks, ask.requestID)]
    if (!known || known.status !== ask.status) changes.push(changeOfAsk(ask))
    else if (ask.status === 'pending' && !hasSameContent(known, ask)) changes.push({ type: 'askChanged', ask })
  }
  if (before.connection !== after.connection) changes.push({ type: 'connectionChanged', connection: after.connection })
  if (before.stalled !== after.stalled) changes.push({ type: 'stalledChanged', stalled: after.stalled })
  if (before.phase !== after.phase) changes.push({ type: 'phaseChanged', phase: after.phase, before: before.phase })
  if (after.outcome !== undefined) changes.push({ type: 'replySettled', outcome: after.outcome })
  return changes
}

/**
 * Reports a new or changed message, its removed parts from the last to the first, its other parts, and each step that a
 * new part finishes. `messageIndex` is its index in `after`.
 */
function reportMessageDiff(
  before: Reply,
  after: Reply,
  { message, messageIndex }: { message: Message; messageIndex: number },
  changes: Change[],
): void {
  const known = before.messages[messageIndexOf(before.messages, message.id)]
  if (!known || !sameHead(known, message)) changes.push({ type: 'messageUpdated', message })
  const gone = known?.parts.filter((part) => partIndexOf(message, part.id) === -1) ?? []
  for (const part of gone.toReversed()) {
    const index = indexInReply(
      before.messages,
      messageIndexOf(before.messages, message.id),
      known ? partIndexOf(known, part.id) : 0,
    )
    changes.push({ type: 'partRemoved', part, index, reason: 'removed' })
  }
  for (const [partIndex, part] of message.parts.entries()) {
    const knownPart = known && partAt(known, partIndexOf(known, part.id))
    reportPartDiff(knownPart, part, indexInReply(after.messages, messageIndex, partIndex), changes)
    if (part.type === 'step-finish' && !knownPart) {
      changes.push({ type: 'stepFinished', messageID: message.id, cost: part.cost, tokens: part.tokens })
    }
  }
}

/**
 * Reports a new or changed part. An abandoned part is reported as removed if it was known before, and otherwise not at
 * all.
 */
function reportPartDiff(known: Part | undefined, part: Part, index: number, changes: Change[]): void {
  if (known && sameButRaw<Part>(known, part)) return
  if (part.status === 'abandoned') {
    if (known) changes.push({ type: 'partRemoved', part, index, reason: 'abandoned' })
    return
  }
  if (known) reportChangedPart(known, part, index, changes)
  else reportNewPart(part, index, changes)
}

/** Reports each part as reverted, the last one first, and then the message as removed. */
function reportRemovedMessage(before: Reply, message: Message, changes: Change[]): void {
  const messageIndex = messageIndexOf(before.messages, message.id)
  for (const [partIndex, part] of [...message.parts.entries()].toReversed()) {
    changes.push({
      type: 'partRemoved',
      part,
      index: indexInReply(before.messages, messageIndex, partIndex),
      reason: 'reverted',
    })
  }
  changes.push({ type: 'messageRemoved', messageID: message.id })
}

/**
 * Reports new summaries, and changed usage, todos, compaction, retry and error. A compaction, retry or error that
 * `after` lacks isn't reported, nor is the error that explains a lost reply.
 */
function reportOwnFields(before: Reply, after: Reply, changes: Change[]): void {
  const counted = new Set(before.summaries?.map(({ messageID }) => messageID))
  for (const { messageID, cost, tokens } of after.summaries ?? [])
    if (!counted.has(messageID)) changes.push({ type: 'stepFinished', messageID, cost, tokens, summary: true })
  if (!same(before.usage, after.usage)) changes.push({ type: 'usageChanged', usage: after.usage })
  if (!same(before.todos, after.todos)) changes.push({ type: 'todosChanged', todos: after.todos })
  if (after.compaction && !same(before.compaction, after.compaction)) {
    changes.push({ type: 'compactionChanged', compaction: after.compaction })
  }
  if (after.retry && !same(before.retry, after.retry)) changes.push({ type: 'sessionRetried', ...after.retry })
  const { error } = after
  // The error that explains a lost reply was never reported as a change.
  if (
    error &&
    error.name !== after.lostReason &&
    (before.error?.name !== error.name || before.error.message !== error.message)
  ) {
    const text = error.message === '' ? error.name : `${error.name}: ${error.message}`
    changes.push({ type: 'sessionErrored', text, error })
  }
}

/** Reports new children, and the changes of every child's reply. A child at another place than before counts as new. */
function reportChildrenDiff(before: Reply, after: Reply, changes: Change[]): void {
  for (const [childIndex, child] of after.children.entries()) {
    const childBefore = before.children[childIndex]
    const knownChild = childBefore?.reply.sessionID === child.reply.sessionID ? childBefore : undefined
    if (!knownChild) changes.push({ type: 'childStarted', child })
    const unborn = { ...emptyReply(child.reply.sessionID), startedAt: child.reply.startedAt, title: child.reply.title }
    for (const change of diff(knownChild?.reply ?? unborn, child.reply)) reportChild(child, change, changes)
  }
}
