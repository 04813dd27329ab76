/**
 * A long immutable list in chunks of equal length. A changed copy shares all unchanged chunks: for 20,000 items it
 * copies about 300 references instead of 20,000.
 */
export interface Chunks<T> {
  readonly length: number
  /** Only the last may be shorter than `chunkLength`. Chunks are never empty. */
  readonly chunks: readonly (readonly T[])[]
  /** All items as one array. Built by the first call, then cached. */
  readonly toArray: () => readonly T[]
}

export const chunkLength = 256

/** Splits a list into chunks, in order. */
export function toChunks<T>(items: readonly T[]): Chunks<T> {
  return createChunks(splitIntoChunks(items), items.length)
}

/** The item at this index. Undefined past the end and for -1. */
export function itemAt<T>({ chunks }: Chunks<T>, place: number): T | undefined {
  return place < 0 ? undefined : chunks[Math.floor(place / chunkLength)]?.[place % chunkLength]
}

/** Replaces the item at `place`, or appends it if `place` is the length. */
export function withItem<T>(list: Chunks<T>, place: number, item: T): Chunks<T> {
  const at = Math.floor(place / chunkLength)
  const chunk = list.chunks[at]?.slice() ?? []
  chunk[place % chunkLength] = item
  return withChunk(list, at, chunk, Math.max(list.length, place + 1))
}

/** Inserts an item before `place`, or at the end. Copies everything after it, which is little near the end. */
export function withInserted<T>(list: Chunks<T>, place: number, item: T): Chunks<T> {
  return withResizedChunk(list, place, (chunk, start) => chunk.toSpliced(start, 0, item))
}

/** Removes the item at `place`. Copies everything after it, which is little near the end. */
export function withRemoved<T>(list: Chunks<T>, place: number): Chunks<T> {
  return withResizedChunk(list, place, (chunk, start) => chunk.toSpliced(start, 1))
}

/** Changes the length of the chunk that contains `place`. `start` is the index of `place` within that chunk. */
function withResizedChunk<T>(
  list: Chunks<T>,
  place: number,
  change: (chunk: readonly T[], start: number) => readonly T[],
): Chunks<T> {
  const at = Math.floor(place / chunkLength)
  const changed = change(list.chunks[at] ?? [], place % chunkLength)
  const tail = concatenated([changed, ...list.chunks.slice(at + 1)])
  return createChunks([...list.chunks.slice(0, at), ...splitIntoChunks(tail)], at * chunkLength + tail.length)
}

/** Replaces the chunk at index `at`, or appends it. `length` is the new number of items. */
export function withChunk<T>(list: Chunks<T>, at: number, chunk: readonly T[], length = list.length): Chunks<T> {
  const chunks = list.chunks.slice()
  chunks[at] = chunk
  return createChunks(chunks, length)
}

function createChunks<T>(chunks: readonly (readonly T[])[], length: number): Chunks<T> {
  let array: readonly T[] | undefined
  return {
    length,
    chunks,
    toArray: () => {
      array ??= concatenated(chunks)
      return array
    },
  }
}

/** All items as one array. Uses `concat`, because `flat` takes many times as long. */
function concatenated<T>(chunks: readonly (readonly T[])[]): readonly T[] {
  const none: readonly T[] = []
  return none.concat(...chunks)
}

function splitIntoChunks<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / chunkLength)
  return Array.from({ length: count }, (_, at) => items.slice(at * chunkLength, (at + 1) * chunkLength))
}
