import type { Part, ToolPart } from '../part.ts'
import type { Message } from '../reply.ts'
import { type Chunks, chunkLength, itemAt, toChunks, withInserted, withItem, withRemoved } from './chunks.ts'
import { withParts } from './shape.ts'

/**
 * The parts of a long message. `Message.parts` is then a getter that builds the array when first read: copying all
 * parts for each event would take time quadratic in their number.
 */
export interface LongParts {
  readonly parts: Chunks<Part>
  readonly indexes: PartIndexes
  /** Number of parts removed since `indexes` was built. Each removal can move a part one below its noted index. */
  readonly removals: number
  /** Removed ids that are still in `indexes`: they need no search. */
  readonly removedIDs: ReadonlySet<string>
}

/**
 * Indexes shared by all lists derived from one another. A part is never above its noted index. It can be below it,
 * after a removal or because another list noted a higher index.
 */
interface PartIndexes {
  readonly byID: Map<string, number>
  /** Ids of the parts that each call id had. */
  readonly byCall: Map<string, Set<string>>
}

/** Messages with at least this many parts use chunks. Below it, copying an array is faster. */
export const longFrom = 1024

/**
 * The field that holds a long message's parts. Not enumerable, so that copies and JSON omit it. A `WeakMap` keyed by
 * message would also work, but V8 frees its values only in a full collection: until then each event would leave some
 * kilobytes behind.
 */
const longParts = Symbol('longParts')

interface LongMessage extends Message {
  /**
   * `owner` is the message that this was made for. A copy of all property descriptors includes this field but may have
   * other `parts`. Then `owner` is not the copy, and the field is ignored.
   */
  readonly [longParts]: { readonly owner: Message; readonly long: LongParts }
}

/**
 * Own and enumerable, so that copies, JSON and comparisons read it like a plain field. All messages share one getter:
 * with a closure for each message, V8 would keep what it refers to until the next full collection.
 */
const partsGetter = {
  enumerable: true,
  configurable: true,
  get(this: LongMessage): readonly Part[] {
    return this[longParts].long.parts.toArray()
  },
}

/**
 * The chunks of a long message. Undefined for a message with a plain array of parts, which may also be long if a caller
 * created it.
 */
export function longPartsOf(message: Message): LongParts | undefined {
  return hasLongParts(message) && message[longParts].owner === message ? message[longParts].long : undefined
}

/** Whether it has the field, which may have been copied from another message. */
function hasLongParts(message: Message): message is LongMessage {
  return longParts in message
}

const noneRemoved: ReadonlySet<string> = new Set()

/** Builds the chunks and the indexes. Takes time linear in the number of parts. */
export function toLongParts(parts: readonly Part[]): LongParts {
  const indexes: PartIndexes = { byID: new Map(), byCall: new Map() }
  for (const [index, part] of parts.entries()) noteIndex(indexes, part, index)
  return { parts: toChunks(parts), indexes, removals: 0, removedIDs: noneRemoved }
}

const noParts: readonly Part[] = []

/** Creates a message with these parts. `parts` is built as an array when it is first read. */
export function withLongParts(message: Omit<Message, 'parts'>, long: LongParts): Message {
  const made = Object.defineProperty(withParts(message, noParts), 'parts', partsGetter)
  return Object.defineProperty(made, longParts, { value: { owner: made, long } })
}

/**
 * Returns a list whose part at `index` is replaced, or appended if `index` is the length. Writes into the indexes,
 * which all lists made from the same one share.
 */
export function longWithPart(long: LongParts, index: number, part: Part): LongParts {
  noteIndex(long.indexes, part, index)
  return { ...long, parts: withItem(long.parts, index, part), removedIDs: withoutID(long.removedIDs, part.id) }
}

/**
 * Returns a list with the part inserted before `index`. Writes the new indexes of all parts after it into the shared
 * ones.
 */
export function longWithInserted(long: LongParts, index: number, part: Part): LongParts {
  const parts = withInserted(long.parts, index, part)
  for (let movedIndex = index; movedIndex < parts.length; movedIndex++) {
    const moved = itemAt(parts, movedIndex)
    if (moved) noteIndex(long.indexes, moved, movedIndex)
  }
  return { ...long, parts, removedIDs: withoutID(long.removedIDs, part.id) }
}

/**
 * Returns a list without the part at `index`, or the same list if there is none. The noted indexes stay slightly too
 * high until enough removals trigger a rebuild.
 */
export function longWithout(long: LongParts, index: number): LongParts {
  const removed = itemAt(long.parts, index)
  if (!removed) return long
  const parts = withRemoved(long.parts, index)
  const removals = long.removals + 1
  if (removals === chunkLength) return toLongParts(parts.toArray())
  return { ...long, parts, removals, removedIDs: new Set([...long.removedIDs, removed.id]) }
}

/** Returns the ids without this one. The same set if it lacks it. */
function withoutID(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return ids.has(id) ? new Set([...ids].filter((other) => other !== id)) : ids
}

/** The index of the part with this id. -1 if it isn't in the list. */
export function indexOfPart({ parts, indexes, removedIDs }: LongParts, id: string): number {
  return removedIDs.has(id) ? -1 : searchDown(parts, id, indexes.byID.get(id))
}

/** All parts with this call id. Empty if there are none. */
export function callPartsOf(long: LongParts, callID: string): readonly ToolPart[] {
  return [...(long.indexes.byCall.get(callID) ?? [])].flatMap((id) => {
    const part = itemAt(long.parts, indexOfPart(long, id))
    return part?.type === 'tool' && part.callID === callID ? [part] : []
  })
}

/**
 * Searches down from the noted index, so a part is found within as many steps as parts were removed. Only a part that
 * exists solely in another list takes a search of the whole list. -1 if it isn't in the list, or no index was noted.
 */
function searchDown(parts: Chunks<Part>, id: string, noted = -1): number {
  for (let at = Math.min(noted, parts.length - 1); at >= 0; at--) if (itemAt(parts, at)?.id === id) return at
  return -1
}

/**
 * Records where a part is, and the call id of a tool's part. Never lowers an index: in another list that shares the
 * map, the part may be at the higher one.
 */
function noteIndex({ byID, byCall }: PartIndexes, part: Part, index: number): void {
  if ((byID.get(part.id) ?? -1) < index) byID.set(part.id, index)
  if (part.type !== 'tool') return
  const ids = byCall.get(part.callID)
  if (ids) ids.add(part.id)
  else byCall.set(part.callID, new Set([part.id]))
}
