import type { Part, ToolPart } from '../part.ts'
import type { Message } from '../reply.ts'
import { itemAt, withChunk } from './chunks.ts'
import {
  callPartsOf,
  indexOfPart,
  type LongParts,
  longFrom,
  longPartsOf,
  longWithInserted,
  longWithout,
  longWithPart,
  toLongParts,
  withLongParts,
} from './long-parts.ts'
import { createPositions } from './positions.ts'
import { replaceAt, withParts } from './shape.ts'

/**
 * Access to a message's parts for code that runs on every event. Reading `message.parts` of a long message builds the
 * whole array, so only code that needs all parts should do so.
 */

export function partCount(message: Message): number {
  return longPartsOf(message)?.parts.length ?? message.parts.length
}

/** The part at this index. Undefined past the end and for -1. */
export function partAt(message: Message, partIndex: number): Part | undefined {
  const long = longPartsOf(message)
  if (long) return itemAt(long.parts, partIndex)
  // Reading index -1 of an array is slow, and makes V8 slow down every other read at this call site.
  return partIndex === -1 ? undefined : message.parts[partIndex]
}

/**
 * All parts in chunks, or in one list for a short message. A chunk stays the same array while nothing in it changes.
 */
export function partChunks(message: Message): readonly (readonly Part[])[] {
  return longPartsOf(message)?.parts.chunks ?? [message.parts]
}

const positions = createPositions<Part>(({ id }) => id)

/** The index of the part with this id. -1 if it isn't in the message. */
export function partIndexOf(message: Message, id: string): number {
  const long = longPartsOf(message)
  return long ? indexOfPart(long, id) : positions.indexOf(message.parts, id)
}

/**
 * All parts with this call id, in no guaranteed order: providers may repeat ids, even within a message. Empty if there
 * are none.
 */
export function partsOfCall(message: Message, callID: string): readonly ToolPart[] {
  const long = longPartsOf(message)
  if (long) return callPartsOf(long, callID)
  return message.parts.filter((part): part is ToolPart => part.type === 'tool' && part.callID === callID)
}

/** Replaces the part at `partIndex`, or appends it if that is the number of parts. */
export function withPart(message: Message, partIndex: number, part: Part): Message {
  const long = asLongParts(message)
  if (long) return withLongParts(message, longWithPart(long, partIndex, part))
  const { parts } = message
  if (partIndex < parts.length) return withShortParts(message, replaceAt(parts, partIndex, part), parts.length)
  return withShortParts(message, [...parts, part], partIndex)
}

/** Inserts a part before `partIndex`. */
export function withInsertedPart(message: Message, partIndex: number, part: Part): Message {
  const long = asLongParts(message)
  if (long) return withLongParts(message, longWithInserted(long, partIndex, part))
  return withShortParts(message, message.parts.toSpliced(partIndex, 0, part), partIndex)
}

/** Removes the part at `partIndex`. */
export function withoutPart(message: Message, partIndex: number): Message {
  const long = asLongParts(message)
  if (long) return withLongParts(message, longWithout(long, partIndex))
  return withShortParts(message, message.parts.toSpliced(partIndex, 1), partIndex)
}

/** The chunks of a long message, converted first if it has just become long. Undefined for a short message. */
function asLongParts(message: Message): LongParts | undefined {
  return longPartsOf(message) ?? (message.parts.length >= longFrom ? toLongParts(message.parts) : undefined)
}

/**
 * Replaces the parts of a short message, and keeps the cached positions of those before `firstChanged`. That is the
 * first index with another part than before, or the length if only a part with the same id was replaced.
 */
function withShortParts(message: Message, parts: readonly Part[], firstChanged: number): Message {
  positions.carryIndex(message.parts, parts, firstChanged)
  return withParts(message, parts)
}

/** The new message head with the previous parts, or without parts if there is no previous message. */
export function withPartsOf(message: Omit<Message, 'parts'>, before: Message | undefined): Message {
  const long = before && longPartsOf(before)
  return long ? withLongParts(message, long) : withParts(message, before?.parts ?? [])
}

/**
 * Replaces each open part, in order, by what `change` returns for it, for example to seal all parts of a reply that
 * ends. Returns the same message if no part changes.
 */
export function withOpenPartsChanged(message: Message, change: (part: Part, partIndex: number) => Part): Message {
  const long = longPartsOf(message)
  if (!long) {
    const parts = changeOpenParts(message.parts, change)
    return parts === message.parts ? message : withParts(message, parts)
  }
  let { parts } = long
  let partIndex = 0
  for (const [at, chunk] of long.parts.chunks.entries()) {
    const firstOfChunk = partIndex
    const changed = hasOpenPart(chunk)
      ? changeOpenParts(chunk, (part, index) => change(part, firstOfChunk + index))
      : chunk
    if (changed !== chunk) parts = withChunk(parts, at, changed)
    partIndex += chunk.length
  }
  return parts === long.parts ? message : withLongParts(message, { ...long, parts })
}

/**
 * Calls `change` with each open part, in order, and replaces it by the result. Returns the same list if no open part
 * changes.
 */
function changeOpenParts(parts: readonly Part[], change: (part: Part, index: number) => Part): readonly Part[] {
  if (!parts.some(isOpenPart)) return parts
  const changed = parts.map((part, index) => (isOpenPart(part) ? change(part, index) : part))
  return changed.some((part, index) => part !== parts[index]) ? changed : parts
}

const knownOpen = new WeakMap<readonly Part[], boolean>()

/** Whether a part of the chunk is open. Cached by chunk, because an event changes only one chunk. */
function hasOpenPart(chunk: readonly Part[]): boolean {
  const isKnown = knownOpen.get(chunk)
  if (isKnown !== undefined) return isKnown
  const isAnyOpen = chunk.some(isOpenPart)
  knownOpen.set(chunk, isAnyOpen)
  return isAnyOpen
}

function isOpenPart({ status }: Part): boolean {
  return status === 'open'
}
