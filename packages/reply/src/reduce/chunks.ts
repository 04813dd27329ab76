/**
 * A long immutable list in chunks of one length. A changed copy shares all chunks but those that it changes: with 20,000
 * items it copies some 300 references, where a copied array has 20,000.
 */
export interface Chunks<T> {
  readonly length: number
  /** Only the last may be shorter than `chunkLength`. None is empty. */
  readonly chunks: readonly (readonly T[])[]
  /** All items as one array: made by the first call, which each later one returns again. */
  readonly toArray: () => readonly T[]
}

export const chunkLength = 256

export function toChunks<T>(items: readonly T[]): Chunks<T> {
  return chunksOf(split(items), items.length)
}

/** Undefined beyond the end, and for -1. */
export function itemAt<T>({ chunks }: Chunks<T>, place: number): T | undefined {
  return place < 0 ? undefined : chunks[Math.floor(place / chunkLength)]?.[place % chunkLength]
}

/** With an item replaced, or with one more where `place` is the length. */
export function withItem<T>(list: Chunks<T>, place: number, item: T): Chunks<T> {
  const at = Math.floor(place / chunkLength)
  const chunk = list.chunks[at]?.slice() ?? []
  chunk[place % chunkLength] = item
  return withChunk(list, at, chunk, Math.max(list.length, place + 1))
}

/** With an item before the one at `place`. What follows it is copied: near the end that is little. */
export function withInserted<T>(list: Chunks<T>, place: number, item: T): Chunks<T> {
  return withMoved(list, place, (chunk, start) => chunk.toSpliced(start, 0, item))
}

/** Without the item at `place`. What follows it is copied: near the end that is little. */
export function withRemoved<T>(list: Chunks<T>, place: number): Chunks<T> {
  return withMoved(list, place, (chunk, start) => chunk.toSpliced(start, 1))
}

/** With the chunk of `place` changed to a longer or shorter one; `start` is where the place is in it. */
function withMoved<T>(
  list: Chunks<T>,
  place: number,
  change: (chunk: readonly T[], start: number) => readonly T[],
): Chunks<T> {
  const at = Math.floor(place / chunkLength)
  const changed = change(list.chunks[at] ?? [], place % chunkLength)
  const tail = joined([changed, ...list.chunks.slice(at + 1)])
  return chunksOf([...list.chunks.slice(0, at), ...split(tail)], at * chunkLength + tail.length)
}

/** With another chunk in the place of one. */
export function withChunk<T>(list: Chunks<T>, at: number, chunk: readonly T[], length = list.length): Chunks<T> {
  const chunks = list.chunks.slice()
  chunks[at] = chunk
  return chunksOf(chunks, length)
}

function chunksOf<T>(chunks: readonly (readonly T[])[], length: number): Chunks<T> {
  let array: readonly T[] | undefined
  return {
    length,
    chunks,
    toArray: () => {
      array ??= joined(chunks)
      return array
    },
  }
}

/** Not with `flat`, which takes many times as long. */
function joined<T>(chunks: readonly (readonly T[])[]): readonly T[] {
  const none: readonly T[] = []
  return none.concat(...chunks)
}

function split<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / chunkLength)
  return Array.from({ length: count }, (_, at) => items.slice(at * chunkLength, (at + 1) * chunkLength))
}
