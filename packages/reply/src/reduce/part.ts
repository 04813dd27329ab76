import type { Change } from '../change.ts'
import type { DeltaEvent } from '../event.ts'
import { same, sameButRaw } from '../fields.ts'
import type { Part, ReasoningPart, StepFinishPart, TextPart, ToolPart, ToolStatus } from '../part.ts'
import type { Message, Reply, Usage } from '../reply.ts'
import { partAt, partCount, partIndexOf, withInsertedPart, withoutPart, withPart } from './part-list.ts'
import { createPositions } from './positions.ts'
import { replaceAt, withFields, withMessages, withText } from './shape.ts'
import { plusStep, usageOf } from './usage.ts'

/**
 * Appends a text delta to an open part. Also restores an abandoned one, unless its step began again. Undefined if the
 * delta doesn't apply: its part is unknown, sealed or has no text, it is empty, or it is for another field than `text`.
 */
export function growPart(
  reply: Reply,
  event: DeltaEvent,
): { readonly reply: Reply; readonly change: Change } | undefined {
  const messageIndex = messageIndexOf(reply.messages, event.messageID)
  const message = reply.messages[messageIndex]
  if (!message) return undefined
  const partIndex = partIndexOf(message, event.partID)
  const part = partAt(message, partIndex)
  if (!part || part.status === 'sealed' || event.delta === '' || event.field !== 'text' || !('text' in part))
    return undefined
  // A retried step abandoned this part, and the delta is late. Only a seal would restore the part.
  if (part.status === 'abandoned' && hasStepStartAfter(message, partIndex)) return undefined
  const grown = withText(part, part.text + event.delta, 'open')
  const next = withMessageAt(reply, messageIndex, withPart(message, partIndex, grown))
  const index = indexInReply(reply.messages, messageIndex, partIndex)
  // The part was abandoned too early: this server continues the same part after a retry.
  if (part.status === 'abandoned') return { reply: next, change: { type: 'partAdded', part: grown, index } }
  return { reply: next, change: { type: 'partChanged', part: grown, index, delta: event.delta } }
}

/** Whether a step starts behind this index. */
function hasStepStartAfter(message: Message, partIndex: number): boolean {
  for (let at = partCount(message) - 1; at > partIndex; at--)
    if (partAt(message, at)?.type === 'step-start') return true
  return false
}

/**
 * Adds a part to its message, or merges it into the one with its id, and reports that. `order` has the ids of the
 * message's parts as the server lists them, to place a new part. Counts the usage of a finished step. Does nothing for
 * an unknown message, and for a part without news.
 */
export function applyPart(
  reply: Reply,
  incoming: Part,
  order: readonly string[] | undefined,
  changes: Change[],
): Reply {
  const messageIndex = messageIndexOf(reply.messages, incoming.messageID)
  const message = reply.messages[messageIndex]
  if (!message) return reply
  const partIndex = partIndexOf(message, incoming.id)
  const before = partAt(message, partIndex)
  if (!before) return addPart(reply, messageIndex, { message, part: incoming, order }, changes)
  const part = mergePart(before, incoming)
  if (part === before) return reply
  const index = indexInReply(reply.messages, messageIndex, partIndex)
  reportChangedPart(before, part, index, changes)
  const next = withMessageAt(reply, messageIndex, withPart(message, partIndex, part))
  return part.type === 'step-finish' ? withStepUsage(next, usageOf(next), part, changes) : next
}

interface NewPart {
  readonly message: Message
  readonly part: Part
  readonly order: readonly string[] | undefined
}

/**
 * Adds a part at its place in `order`, or at the end without one, and reports it. Counts the usage of a finished step.
 */
function addPart(reply: Reply, messageIndex: number, { message, part, order }: NewPart, changes: Change[]): Reply {
  const count = partCount(message)
  const partIndex = order ? insertionIndex(message, part.id, order) : count
  reportNewPart(part, indexInReply(reply.messages, messageIndex, partIndex), changes)
  if (partIndex < count) {
    const next = withMessageAt(reply, messageIndex, withInsertedPart(message, partIndex, part))
    return part.type === 'step-finish' ? withStepUsage(next, usageOf(next), part, changes) : next
  }
  const next = withMessageAt(reply, messageIndex, withPart(message, count, part))
  if (part.type !== 'step-finish') return next
  // A step at the very end only adds to the sum so far.
  const usage = messageIndex === reply.messages.length - 1 ? plusStep(reply.usage, part) : usageOf(next)
  return withStepUsage(next, usage, part, changes)
}

/**
 * The index at which to insert a part that is new here, by the server's `order` of part ids: before all parts at the
 * end that the server lists after it. Skips parts that aren't in `order`. A part that isn't in it itself goes before
 * all that are.
 */
function insertionIndex(message: Message, id: string, order: readonly string[]): number {
  const ranks = ranksOf(order)
  const own = ranks.get(id) ?? -1
  let index = partCount(message)
  for (let at = index - 1; at >= 0; at--) {
    const rank = ranks.get(partAt(message, at)?.id ?? '')
    if (rank === undefined) continue
    if (rank < own) break
    index = at
  }
  return index
}

/** Cached by list: all parts of a message share one order. */
const knownRanks = new WeakMap<readonly string[], ReadonlyMap<string, number>>()

/** The index of each id in the list. Cached by list. */
function ranksOf(order: readonly string[]): ReadonlyMap<string, number> {
  const known = knownRanks.get(order)
  if (known) return known
  const ranks = new Map(order.map((id, rank) => [id, rank]))
  knownRanks.set(order, ranks)
  return ranks
}

/** Reports a new part as added. Also reports a call's status, and the end of a part that is already sealed. */
export function reportNewPart(part: Part, index: number, changes: Change[]): void {
  changes.push({ type: 'partAdded', part, index })
  if (part.type === 'tool') {
    changes.push({ type: 'toolProgressed', part, index, status: part.state.status, changed: 'status' })
  }
  if (part.status === 'sealed') changes.push({ type: 'partFinalized', part, index })
}

/** Sets the usage after a finished step, and reports the step and the usage. */
function withStepUsage(reply: Reply, usage: Usage, part: StepFinishPart, changes: Change[]): Reply {
  changes.push({ type: 'stepFinished', messageID: part.messageID, cost: part.cost, tokens: part.tokens })
  changes.push({ type: 'usageChanged', usage })
  return withFields(reply, { usage })
}

/**
 * Reports a changed part to observers, and then its end if it is sealed. A part that was abandoned before is reported
 * as added. A text that grew has a `delta`. One that was only sealed is not reported as changed.
 */
export function reportChangedPart(before: Part, part: Part, index: number, changes: Change[]): void {
  if (before.status === 'abandoned' && part.status !== 'abandoned') {
    changes.push({ type: 'partAdded', part, index })
  } else if (part.type === 'tool') {
    const status = part.state.status
    const moved = before.type !== 'tool' || before.state.status !== status
    changes.push({ type: 'toolProgressed', part, index, status, changed: moved ? 'status' : 'payload' })
  } else if ('text' in part && 'text' in before && before.type === part.type) {
    if (part.text !== before.text || part.status === before.status) {
      const grown = extendsText(part.text, before.text)
      const delta = grown ? part.text.slice(before.text.length) : undefined
      changes.push({ type: 'partChanged', part, index, delta })
    }
  } else changes.push({ type: 'partChanged', part, index })
  if (part.status === 'sealed') changes.push({ type: 'partFinalized', part, index })
}

/** Removes a part and reports it. Subtracts the usage of a finished step, and reports that. Ignores an unknown part. */
export function removePart(
  reply: Reply,
  removed: { readonly messageID: string; readonly partID: string },
  changes: Change[],
): Reply {
  const messageIndex = messageIndexOf(reply.messages, removed.messageID)
  const message = reply.messages[messageIndex]
  const partIndex = message ? partIndexOf(message, removed.partID) : -1
  const part = message && partAt(message, partIndex)
  if (!message || !part) return reply
  changes.push({
    type: 'partRemoved',
    part,
    index: indexInReply(reply.messages, messageIndex, partIndex),
    reason: 'removed',
  })
  const next = withMessageAt(reply, messageIndex, withoutPart(message, partIndex))
  if (part.type !== 'step-finish') return next
  const usage = usageOf(next)
  changes.push({ type: 'usageChanged', usage })
  return withFields(next, { usage })
}

/**
 * Whether `text` is `beginning` with more text after it. On long texts, comparing a slice takes a thirtieth of the time
 * of `String.startsWith`.
 */
function extendsText(text: string, beginning: string): boolean {
  return text.length > beginning.length && text.slice(0, beginning.length) === beginning
}

const messagePlaces = createPositions<Message>(({ id }) => id)

/** The index of the message with this id. -1 if it isn't in the list. */
export function messageIndexOf(list: readonly Message[], id: string): number {
  return messagePlaces.indexOf(list, id)
}

/** Replaces the reply's message at this index. */
export function withMessageAt(reply: Reply, messageIndex: number, message: Message): Reply {
  const messages = replaceAt(reply.messages, messageIndex, message)
  carryMessagePositions(reply.messages, messages)
  return withMessages(reply, messages)
}

/** Gives the cached positions of `messages` to `next`, which is the same list with one message replaced or appended. */
export function carryMessagePositions(messages: readonly Message[], next: readonly Message[]): void {
  messagePlaces.carryIndex(messages, next)
}

/** A part's index among all parts of the reply, from its message's index and its own within the message. */
export function indexInReply(messages: readonly Message[], messageIndex: number, partIndex: number): number {
  let index = partIndex
  for (let before = 0; before < messageIndex; before++) {
    const message = messages[before]
    if (message) index += partCount(message)
  }
  return index
}

/**
 * Merges a snapshot into a part. Returns the same object if the snapshot has nothing new. A snapshot of another type
 * replaces the part.
 *
 * A sealed snapshot always wins, even if it is shorter. An unsealed one may be stale (REST returns "" for a text in
 * progress), so it never shortens a text, reopens a part or returns a tool call to an earlier state.
 */
function mergePart(before: Part, incoming: Part): Part {
  if (before.type !== incoming.type) return incoming
  if (incoming.type === 'tool' && before.type === 'tool') return mergeTool(before, incoming)
  if ((incoming.type === 'text' || incoming.type === 'reasoning') && 'text' in before) {
    if (incoming.status === 'sealed') return mergeSeal(before, incoming)
    if (before.status !== 'open') return before
    if (incoming.text.length <= before.text.length) return withLongerText(before, incoming)
    return sameOrNewer(before, incoming)
  }
  return sameOrNewer(before, incoming)
}

/** Takes over a seal. A seal without text doesn't restore an abandoned part, which stays as it is. */
function mergeSeal(before: Part, seal: TextPart | ReasoningPart): Part {
  if (before.status === 'abandoned' && seal.text.trim() === '') return before
  return sameOrNewer(before, seal)
}

/** Takes the snapshot's other fields but keeps the longer text. Keeps the known holes: a shorter text can't fill them. */
function withLongerText(before: TextPart | ReasoningPart, incoming: TextPart | ReasoningPart): Part {
  const holes = incoming.holes ?? before.holes
  const marked = holes === incoming.holes ? incoming : { ...incoming, holes }
  return sameOrNewer(before, withText(marked, before.text))
}

const statusRank: Record<ToolStatus, number> = { pending: 0, running: 1, completed: 2, error: 2 }

/**
 * The newer state of a tool call, or `before` if that one is further. Keeps the name that the model used instead of
 * `invalid`, and marks a state that may be of another call as ambiguous.
 */
function mergeTool(before: ToolPart, incoming: ToolPart): Part {
  if (statusRank[incoming.state.status] < statusRank[before.state.status]) return before
  const named = incoming.tool === 'invalid' && before.tool !== 'invalid' ? { ...incoming, tool: before.tool } : incoming
  if (statusRank[named.state.status] === 2) return sameOrNewer(before, named)
  if (before.status === 'open') return sameOrNewer(before, isAmbiguous(before, named) ? withAmbiguity(named) : named)
  // The call was closed with its reply while still running: a late repetition doesn't reopen it.
  return before
}

/**
 * Whether the newer state belongs to another call than the part's running one. OpenCode 1 keeps two calls with the same
 * id in one part if the second begins before the first has ended.
 */
function isAmbiguous(before: ToolPart, incoming: ToolPart): boolean {
  if (before.state.status !== 'running') return false
  // OpenCode 2 reports progress of a call whose beginning was missed.
  if (before.tool === 'unknown') return false
  return (
    before.state.ambiguous === true || before.tool !== incoming.tool || !same(before.state.input, incoming.state.input)
  )
}

/**
 * Marks a call whose state may be that of another call with the same id. A permission for it then has no known call.
 */
function withAmbiguity(part: ToolPart): ToolPart {
  return { ...part, state: { ...part.state, ambiguous: true } }
}

/** Keeps the same object if nothing but `raw` differs. */
function sameOrNewer(before: Part, incoming: Part): Part {
  return sameButRaw<Part>(before, incoming) ? before : incoming
}
