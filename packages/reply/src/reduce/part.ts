import type { Change } from '../change.ts'
import type { DeltaEvent } from '../event.ts'
import type { Part, StepFinishPart } from '../part.ts'
import type { Message, Reply, Usage } from '../reply.ts'
import { mergePart } from './merge.ts'
import { createPositions } from './positions.ts'
import { replaceAt, withFields, withMessages, withParts, withText } from './shape.ts'
import { plusStep, usageOf } from './usage.ts'

/**
 * A piece of text for a part that is open: the reply with it, and what it changed. Undefined for anything else: a sealed
 * part ignores a late delta.
 */
export function growPart(
  reply: Reply,
  event: DeltaEvent,
): { readonly reply: Reply; readonly change: Change } | undefined {
  const at = messageAt(reply.messages, event.messageID)
  const message = reply.messages[at]
  if (!message) return undefined
  const place = partAt(message.parts, event.partID)
  const part = message.parts[place]
  if (!part || part.status === 'sealed' || event.delta === '' || event.field !== 'text' || !('text' in part))
    return undefined
  // A step that began anew took it back: this is what it said before, told late. Only its seal would give it again.
  if (part.status === 'abandoned' && message.parts.some(({ type }, index) => type === 'step-start' && index > place))
    return undefined
  const grown = withText(part, part.text + event.delta, 'open')
  const next = withPart(reply, at, message, replaceAt(message.parts, place, grown))
  const index = indexOf(reply.messages, at, place)
  // It was taken back too early: this server goes on with the same part after a retry.
  if (part.status === 'abandoned') return { reply: next, change: { type: 'partAdded', part: grown, index } }
  return { reply: next, change: { type: 'partChanged', part: grown, index, delta: event.delta } }
}

/** A snapshot of a part of one of the reply's messages. */
export function applyPart(
  reply: Reply,
  incoming: Part,
  order: readonly string[] | undefined,
  changes: Change[],
): Reply {
  const at = messageAt(reply.messages, incoming.messageID)
  const message = reply.messages[at]
  if (!message) return reply
  const place = partAt(message.parts, incoming.id)
  // A list is slow at -1, and that slows down every other reading of it here.
  const before = place === -1 ? undefined : message.parts[place]
  if (!before) return addPart(reply, at, { message, part: incoming, order }, changes)
  const part = mergePart(before, incoming)
  if (part === before) return reply
  const index = indexOf(reply.messages, at, place)
  tellChange(before, part, index, changes)
  const next = withPart(reply, at, message, replaceAt(message.parts, place, part))
  return part.type === 'step-finish' ? withStep(next, usageOf(next), part, changes) : next
}

interface Addition {
  readonly message: Message
  readonly part: Part
  readonly order: readonly string[] | undefined
}

function addPart(reply: Reply, at: number, { message, part, order }: Addition, changes: Change[]): Reply {
  const place = order ? placeIn(message.parts, part.id, order) : message.parts.length
  tellPart(part, indexOf(reply.messages, at, place), changes)
  if (place < message.parts.length) {
    const inserted = withParts(message, message.parts.toSpliced(place, 0, part))
    const next = withMessages(reply, replaceAt(reply.messages, at, inserted))
    return part.type === 'step-finish' ? withStep(next, usageOf(next), part, changes) : next
  }
  const next = withPart(reply, at, message, [...message.parts, part])
  if (part.type !== 'step-finish') return next
  // The last of all steps is added to what the others came to.
  const usage = at === reply.messages.length - 1 ? plusStep(reply.usage, part) : usageOf(next)
  return withStep(next, usage, part, changes)
}

/** Before the parts at the end that the server has after it. A part that the server doesn't know says nothing of the order. */
function placeIn(parts: readonly Part[], id: string, order: readonly string[]): number {
  const ranks = ranksOf(order)
  const own = ranks.get(id) ?? -1
  let place = parts.length
  for (let at = parts.length - 1; at >= 0; at--) {
    const rank = ranks.get(parts[at]?.id ?? '')
    if (rank === undefined) continue
    if (rank < own) break
    place = at
  }
  return place
}

/** One list is the order of each of its parts: looked up once, not for each of them. */
const knownRanks = new WeakMap<readonly string[], ReadonlyMap<string, number>>()

function ranksOf(order: readonly string[]): ReadonlyMap<string, number> {
  const known = knownRanks.get(order)
  if (known) return known
  const ranks = new Map(order.map((id, rank) => [id, rank]))
  knownRanks.set(order, ranks)
  return ranks
}

/** What observers hear of a part that they didn't know. */
export function tellPart(part: Part, index: number, changes: Change[]): void {
  changes.push({ type: 'partAdded', part, index })
  if (part.type === 'tool') {
    changes.push({ type: 'toolProgressed', part, index, status: part.state.status, changed: 'status' })
  }
  if (part.status === 'sealed') changes.push({ type: 'partFinalized', part, index })
}

function withStep(reply: Reply, usage: Usage, part: StepFinishPart, changes: Change[]): Reply {
  changes.push({ type: 'stepFinished', messageID: part.messageID, cost: part.cost, tokens: part.tokens })
  changes.push({ type: 'usageChanged', usage })
  return withFields(reply, { usage })
}

/** What observers hear when a part that they know is another now. */
export function tellChange(before: Part, part: Part, index: number, changes: Change[]): void {
  if (before.status === 'abandoned' && part.status !== 'abandoned') {
    changes.push({ type: 'partAdded', part, index })
  } else if (part.type === 'tool') {
    const status = part.state.status
    const moved = before.type !== 'tool' || before.state.status !== status
    changes.push({ type: 'toolProgressed', part, index, status, changed: moved ? 'status' : 'payload' })
  } else if ('text' in part && 'text' in before && before.type === part.type) {
    if (part.text !== before.text || part.status === before.status) {
      const grown = startsWith(part.text, before.text)
      const delta = grown ? part.text.slice(before.text.length) : undefined
      changes.push({ type: 'partChanged', part, index, delta })
    }
  } else changes.push({ type: 'partChanged', part, index })
  if (part.status === 'sealed') changes.push({ type: 'partFinalized', part, index })
}

export function removePart(
  reply: Reply,
  place: { readonly messageID: string; readonly partID: string },
  reason: 'removed' | 'reverted',
  changes: Change[],
): Reply {
  const at = messageAt(reply.messages, place.messageID)
  const message = reply.messages[at]
  const partIndex = message ? partAt(message.parts, place.partID) : -1
  const part = message?.parts[partIndex]
  if (!message || !part) return reply
  changes.push({ type: 'partRemoved', part, index: indexOf(reply.messages, at, partIndex), reason })
  const parts = message.parts.filter((other) => other !== part)
  const next = withMessages(reply, replaceAt(reply.messages, at, withParts(message, parts)))
  if (part.type !== 'step-finish') return next
  const usage = usageOf(next)
  changes.push({ type: 'usageChanged', usage })
  return withFields(next, { usage })
}

/** And goes on. Comparing a slice takes a thirtieth of the time that `String.startsWith` takes on a long text. */
function startsWith(text: string, start: string): boolean {
  return text.length > start.length && text.slice(0, start.length) === start
}

const messagePlaces = createPositions<Message>(({ id }) => id)
const partPlaces = createPositions<Part>(({ id }) => id)

/** -1 without it. */
export function messageAt(list: readonly Message[], id: string): number {
  return messagePlaces.at(list, id)
}

/** -1 without it. */
export function partAt(list: readonly Part[], id: string): number {
  return partPlaces.at(list, id)
}

/** The message with another part in this place, or one more at its end. */
function withPart(reply: Reply, at: number, message: Message, next: readonly Part[]): Reply {
  partPlaces.carry(message.parts, next)
  const changed = replaceAt(reply.messages, at, withParts(message, next))
  messagePlaces.carry(reply.messages, changed)
  return withMessages(reply, changed)
}

/** A part's position among all parts of the reply. */
export function indexOf(messages: readonly Message[], at: number, place: number): number {
  let index = place
  for (let before = 0; before < at; before++) index += messages[before]?.parts.length ?? 0
  return index
}
