/**
 * Finds items by id in immutable lists that mostly change at their end. A list and all lists derived from it share one
 * index. Each change updates the items that moved, and each result is checked against the list.
 */
export interface Positions<T> {
  /** The index of the item with this id. -1 if it isn't in the list. */
  indexOf(list: readonly T[], id: string): number
  /**
   * Gives the index of `list` to `next`, which is `list` with one item replaced, added or removed. Items from index
   * `from` on may have moved. Default: only an item appended at the end is new.
   */
  carryIndex(list: readonly T[], next: readonly T[], from?: number): void
}

/** Most events concern the last items: searches this many before using an index. */
const nearEnd = 32

/** Creates the lookup for one kind of list. `idOf` returns the id of an item. */
export function createPositions<T>(idOf: (item: T) => string): Positions<T> {
  const indexes = new WeakMap<readonly T[], Map<string, number>>()
  return { indexOf, carryIndex }

  /**
   * The index of the item with this id. -1 if it isn't in the list. Searches the last items first, and builds an index
   * only if the item isn't among them.
   */
  function indexOf(list: readonly T[], id: string): number {
    const nearStart = Math.max(0, list.length - nearEnd)
    const near = scanFromEnd(list, id, nearStart)
    if (near !== -1 || nearStart === 0) return near
    const index = indexes.get(list) ?? buildIndex(list)
    const place = index.get(id)
    if (place === undefined) return -1
    const found = list[place]
    // The index may point to a different item: another list derived from the same one updated it, or the item was
    // removed.
    return found !== undefined && idOf(found) === id ? place : scanFromEnd(list, id, 0)
  }

  /** The index of the last item with this id, from `from` on. -1 if there is none. */
  function scanFromEnd(list: readonly T[], id: string, from: number): number {
    for (let place = list.length - 1; place >= from; place--) {
      const item = list[place]
      if (item !== undefined && idOf(item) === id) return place
    }
    return -1
  }

  /** Builds the index of a list, and remembers it for that list. */
  function buildIndex(list: readonly T[]): Map<string, number> {
    const index = new Map(list.map((item, place) => [idOf(item), place]))
    indexes.set(list, index)
    return index
  }

  /**
   * Gives the index of `list` to `next`, in which items from index `from` on have changed. Does nothing for a short
   * list, and for one without an index.
   */
  function carryIndex(list: readonly T[], next: readonly T[], from = list.length): void {
    if (next.length <= nearEnd) return
    const index = indexes.get(list)
    if (!index) return
    indexes.set(next, index)
    for (let place = from; place < next.length; place++) {
      const item = next[place]
      if (item !== undefined) index.set(idOf(item), place)
    }
  }
}
