import type { Part } from '../part.ts'
import type { Message } from '../reply.ts'
import { itemAt, withChunk } from './chunks.ts'
import {
  callIn,
  type LongParts,
  longFrom,
  longPartsOf,
  longWith,
  longWithInserted,
  longWithout,
  placeOf,
  toLongParts,
  withLongParts,
} from './long.ts'
import { createPositions } from './positions.ts'
import { replaceAt, withParts } from './shape.ts'

/**
 * The parts of a message for what looks at them at each event. Reading `message.parts` of a long message puts its whole
 * array together, which only those should pay for who read all of it.
 */

export function partCount(message: Message): number {
  return longPartsOf(message)?.parts.length ?? message.parts.length
}

/** Undefined beyond the end, and for -1. */
export function partIn(message: Message, place: number): Part | undefined {
  const long = longPartsOf(message)
  if (long) return itemAt(long.parts, place)
  // A list is slow at -1, and that slows down every other reading of it here.
  return place === -1 ? undefined : message.parts[place]
}

/** All parts, in pieces that stay the same arrays while nothing in them changes. */
export function partLists(message: Message): readonly (readonly Part[])[] {
  return longPartsOf(message)?.parts.chunks ?? [message.parts]
}

const positions = createPositions<Part>(({ id }) => id)

/** -1 without it. */
export function partAt(message: Message, id: string): number {
  const long = longPartsOf(message)
  return long ? placeOf(long, id) : positions.at(message.parts, id)
}

/** The newest part of a call. */
export function partOfCall(message: Message, callID: string): Part | undefined {
  const long = longPartsOf(message)
  if (long) return callIn(long, callID)
  return message.parts.findLast((part) => part.type === 'tool' && part.callID === callID)
}

/** The message with another part in this place, or with one more where that is its end. */
export function withPart(message: Message, place: number, part: Part): Message {
  const long = asLongParts(message)
  if (long) return withLongParts(message, longWith(long, place, part))
  const { parts } = message
  if (place < parts.length) return withShortParts(message, replaceAt(parts, place, part), parts.length)
  return withShortParts(message, [...parts, part], place)
}

/** The message with a part before the one in this place. */
export function withInsertedPart(message: Message, place: number, part: Part): Message {
  const long = asLongParts(message)
  if (long) return withLongParts(message, longWithInserted(long, place, part))
  return withShortParts(message, message.parts.toSpliced(place, 0, part), place)
}

/** The message without the part in this place. */
export function withoutPart(message: Message, place: number): Message {
  const long = asLongParts(message)
  if (long) return withLongParts(message, longWithout(long, place))
  return withShortParts(message, message.parts.toSpliced(place, 1), place)
}

/** For a change of the parts: a message that has become long is kept in chunks from then on, whichever change made it long. */
function asLongParts(message: Message): LongParts | undefined {
  return longPartsOf(message) ?? (message.parts.length >= longFrom ? toLongParts(message.parts) : undefined)
}

/** `from` is the first place where another part may be now. */
function withShortParts(message: Message, parts: readonly Part[], from: number): Message {
  positions.carry(message.parts, parts, from)
  return withParts(message, parts)
}

/** What the message is now, with the parts that it had. */
export function withPartsOf(message: Omit<Message, 'parts'>, before: Message | undefined): Message {
  const long = before && longPartsOf(before)
  return long ? withLongParts(message, long) : withParts(message, before?.parts ?? [])
}

/** The message with its open parts changed, the first one first. The same one where `change` gives each part back. */
export function withOpenChanged(message: Message, change: (part: Part, place: number) => Part): Message {
  const long = longPartsOf(message)
  if (!long) {
    const parts = changeOpen(message.parts, change)
    return parts === message.parts ? message : withParts(message, parts)
  }
  let { parts } = long
  let place = 0
  for (const [at, chunk] of long.parts.chunks.entries()) {
    const first = place
    const changed = hasOpen(chunk) ? changeOpen(chunk, (part, index) => change(part, first + index)) : chunk
    if (changed !== chunk) parts = withChunk(parts, at, changed)
    place += chunk.length
  }
  return parts === long.parts ? message : withLongParts(message, { ...long, parts })
}

function changeOpen(parts: readonly Part[], change: (part: Part, place: number) => Part): readonly Part[] {
  if (!parts.some(isOpen)) return parts
  const changed = parts.map((part, place) => (isOpen(part) ? change(part, place) : part))
  return changed.some((part, place) => part !== parts[place]) ? changed : parts
}

const knownOpen = new WeakMap<readonly Part[], boolean>()

/** Remembered for each chunk: an event changes one chunk and leaves the others as they are. */
function hasOpen(chunk: readonly Part[]): boolean {
  const isKnown = knownOpen.get(chunk)
  if (isKnown !== undefined) return isKnown
  const isAnyOpen = chunk.some(isOpen)
  knownOpen.set(chunk, isAnyOpen)
  return isAnyOpen
}

function isOpen({ status }: Part): boolean {
  return status === 'open'
}
