import type { Part } from '../part.ts'
import type { Message } from '../reply.ts'
import { type Chunks, chunkLength, itemAt, toChunks, withInserted, withItem, withRemoved } from './chunks.ts'
import { withParts } from './shape.ts'

/**
 * The parts of a long message. Its `parts` is a getter that puts the array together when it is first read: a copy of all
 * parts for each event would make the time of a message grow with the square of their number.
 */
export interface LongParts {
  readonly parts: Chunks<Part>
  readonly places: Places
  /** How many parts were removed since `places` was made. Each removal may put a part one further below its noted place. */
  readonly removals: number
  /** The ids that `places` still has of them, so that these are known to be gone without a search. */
  readonly removedIDs: ReadonlySet<string>
}

/**
 * Shared by all lists that were made from one another. In each of them a part is in the place noted or below it, never
 * above: other lists, and removals, are why it may be below.
 */
interface Places {
  readonly byID: Map<string, number>
  /** Of the newest part of each call. */
  readonly byCall: Map<string, number>
}

/** From this many parts on a message is long. Fewer are copied faster than they are kept in chunks. */
export const longFrom = 1024

/**
 * The field in which a long message keeps its parts: not enumerable, so that copies and JSON are without it. A `WeakMap`
 * from messages to parts would do the same, but V8 frees the values of one only in a full collection: each event would
 * leave some kilobytes until then.
 */
const longParts = Symbol('longParts')

interface LongMessage extends Message {
  /**
   * `owner` is the message that this was made for. A copy with all property descriptors has this field too, but may have
   * been given other `parts`: there `owner` is not the copy, and this field says nothing about it.
   */
  readonly [longParts]: { readonly owner: Message; readonly long: LongParts }
}

/**
 * Own and enumerable: copies, JSON and comparisons read it as they read a plain field. One getter for all messages: V8
 * keeps what each further one refers to until its next full collection.
 */
const partsGetter = {
  enumerable: true,
  configurable: true,
  get(this: LongMessage): readonly Part[] {
    return this[longParts].long.parts.toArray()
  },
}

/** Undefined for a message whose parts are a plain array, also where they are many: a caller may have made it. */
export function longPartsOf(message: Message): LongParts | undefined {
  return isLong(message) && message[longParts].owner === message ? message[longParts].long : undefined
}

function isLong(message: Message): message is LongMessage {
  return longParts in message
}

const noneRemoved: ReadonlySet<string> = new Set()

export function toLongParts(parts: readonly Part[]): LongParts {
  const places: Places = { byID: new Map(), byCall: new Map() }
  for (const [place, part] of parts.entries()) note(places, part, place)
  return { parts: toChunks(parts), places, removals: 0, removedIDs: noneRemoved }
}

const noParts: readonly Part[] = []

/** The message with these parts. */
export function withLongParts(message: Omit<Message, 'parts'>, long: LongParts): Message {
  const made = Object.defineProperty(withParts(message, noParts), 'parts', partsGetter)
  return Object.defineProperty(made, longParts, { value: { owner: made, long } })
}

/** With a part replaced, or with one more where `place` is the length. */
export function longWith(long: LongParts, place: number, part: Part): LongParts {
  note(long.places, part, place)
  return { ...long, parts: withItem(long.parts, place, part), removedIDs: withoutID(long.removedIDs, part.id) }
}

export function longWithInserted(long: LongParts, place: number, part: Part): LongParts {
  const parts = withInserted(long.parts, place, part)
  for (let at = place; at < parts.length; at++) {
    const moved = itemAt(parts, at)
    if (moved) note(long.places, moved, at)
  }
  return { ...long, parts, removedIDs: withoutID(long.removedIDs, part.id) }
}

/** Without the part at `place`. The places stay as they are, a little too high, until there were many removals. */
export function longWithout(long: LongParts, place: number): LongParts {
  const removed = itemAt(long.parts, place)
  if (!removed) return long
  const parts = withRemoved(long.parts, place)
  const removals = long.removals + 1
  if (removals === chunkLength) return toLongParts(parts.toArray())
  return { ...long, parts, removals, removedIDs: new Set([...long.removedIDs, removed.id]) }
}

function withoutID(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return ids.has(id) ? new Set([...ids].filter((other) => other !== id)) : ids
}

/** -1 without it. */
export function placeOf({ parts, places, removedIDs }: LongParts, id: string): number {
  return removedIDs.has(id) ? -1 : search(parts, (part) => part.id === id, places.byID.get(id))
}

/** The newest part of a call. */
export function callIn({ parts, places }: LongParts, callID: string): Part | undefined {
  const place = search(parts, (part) => part.type === 'tool' && part.callID === callID, places.byCall.get(callID))
  return itemAt(parts, place)
}

/**
 * From the noted place down, which finds a part after as many steps as parts were removed. Only what another list has and
 * this one lacks is searched for in all of it.
 */
function search(parts: Chunks<Part>, isIt: (part: Part) => boolean, noted = -1): number {
  for (let at = Math.min(noted, parts.length - 1); at >= 0; at--) {
    const part = itemAt(parts, at)
    if (part && isIt(part)) return at
  }
  return -1
}

/** Never to a lower place: in another list that shares it the part may be further back. */
function note({ byID, byCall }: Places, part: Part, place: number): void {
  if ((byID.get(part.id) ?? -1) < place) byID.set(part.id, place)
  if (part.type === 'tool' && (byCall.get(part.callID) ?? -1) < place) byCall.set(part.callID, place)
}
