import type { Part } from '../part.ts'
import type { Message } from '../reply.ts'
import { type Chunks, itemAt, toChunks, withInserted, withItem } from './chunks.ts'
import { withParts } from './shape.ts'

/**
 * The parts of a long message. Its `parts` is a getter that puts the array together when it is first read: a copy of all
 * parts for each event would make the time of a message grow with the square of their number.
 */
export interface Long {
  readonly parts: Chunks<Part>
  readonly places: Places
}

/** Shared by all lists that came of one another, so each place that it gives is checked against the list at hand. */
interface Places {
  readonly byID: Map<string, number>
  /** Of the newest part of each call, or beyond it. */
  readonly byCall: Map<string, number>
}

/** From this many parts on a message is long. Fewer are copied faster than they are kept in chunks. */
export const longFrom = 1024

/**
 * Where a long message keeps its parts: not enumerable, so that copies and JSON are without it. Not in a `WeakMap`: V8's
 * young collections keep the values of one, here some kilobytes for each event.
 */
const held = Symbol('parts')

interface LongMessage extends Message {
  /** `owner` is the message, unless this is a copy of it with all that is hidden: whose parts may be others. */
  readonly [held]: { readonly owner: Message; readonly long: Long }
}

/**
 * Own and enumerable: copies, JSON and comparisons read it as they read a plain field. One getter for all messages: V8
 * keeps what each further one refers to until its next full collection.
 */
const partsGetter = {
  enumerable: true,
  configurable: true,
  get(this: LongMessage): readonly Part[] {
    return this[held].long.parts.whole()
  },
}

/** Undefined for a message whose parts are a plain array, also where they are many: a caller may have made it. */
export function longOf(message: Message): Long | undefined {
  return isLong(message) && message[held].owner === message ? message[held].long : undefined
}

function isLong(message: Message): message is LongMessage {
  return held in message
}

export function toLong(parts: readonly Part[]): Long {
  const places: Places = { byID: new Map(), byCall: new Map() }
  for (const [place, part] of parts.entries()) note(places, part, place)
  return { parts: toChunks(parts), places }
}

const noParts: readonly Part[] = []

/** The message with these parts. */
export function withLong(message: Omit<Message, 'parts'>, long: Long): Message {
  const made = Object.defineProperty(withParts(message, noParts), 'parts', partsGetter)
  return Object.defineProperty(made, held, { value: { owner: made, long } })
}

/** With a part replaced, or with one more where `place` is the length. */
export function longWith({ parts, places }: Long, place: number, part: Part): Long {
  note(places, part, place)
  return { parts: withItem(parts, place, part), places }
}

export function longWithInserted(long: Long, place: number, part: Part): Long {
  const { places } = long
  const parts = withInserted(long.parts, place, part)
  for (let at = place; at < parts.length; at++) {
    const moved = itemAt(parts, at)
    if (moved) note(places, moved, at)
  }
  return { parts, places }
}

/** -1 without it. */
export function placeOf({ parts, places }: Long, id: string): number {
  return lookUp(parts, places.byID.get(id), (part) => part.id === id)
}

/** The newest part of a call. */
export function callIn({ parts, places }: Long, callID: string): Part | undefined {
  const place = lookUp(parts, places.byCall.get(callID), (part) => part.type === 'tool' && part.callID === callID)
  return itemAt(parts, place)
}

function lookUp(parts: Chunks<Part>, place: number | undefined, isIt: (part: Part) => boolean): number {
  if (place === undefined) return -1
  const found = itemAt(parts, place)
  if (found && isIt(found)) return place
  // Of two lists that came of one, each may have something else in this place.
  for (let at = parts.length - 1; at >= 0; at--) {
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
