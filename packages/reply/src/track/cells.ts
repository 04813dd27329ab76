/** A value that contains its own id. */
interface Identified {
  /** Its key in the map. */
  readonly id: string
}

/**
 * A persistent map from ids to values that contain them: `with` and `without` return a new version and leave the old
 * one unchanged.
 *
 * The newest version owns a `Map`. A write changes it in place, hands it to the new version, and leaves the old one
 * with the value that the write replaced. Reading an old version follows the writes since then. Writing to it makes a
 * copy. So going from each version to the next costs as much as a plain `Map`, however many sessions take turns.
 *
 * A class because of its private fields: a frozen state can still hand on its `Map`.
 */
export class Cells<T extends Identified> {
  /** The number of values. */
  readonly size: number
  /** Set while this version is the newest. */
  #map: Map<string, T> | undefined
  /** The version after this one, once there is one, and the id and old value of the write between the two. */
  #next: Cells<T> | undefined
  #id: string | undefined
  #before: T | undefined
  /**
   * How many more writes may change the `Map`. Limited, because an old version that is kept holds on to all of them.
   */
  readonly #writesLeft: number

  constructor(map: Map<string, T>, writesLeft = Math.max(fewestWrites, map.size)) {
    this.size = map.size
    this.#map = map
    this.#writesLeft = writesLeft
  }

  /** The value with this id as of this version. Undefined if there is none. */
  get(id: string): T | undefined {
    let version: Cells<T> = this
    for (; version.#next; version = version.#next) if (version.#id === id) return version.#before
    return version.#map?.get(id)
  }

  /** Returns a version with the value added, or replaced in its place. */
  with(value: T): Cells<T> {
    const { id } = value
    const map = this.#ownMap()
    const before = map.get(id)
    map.set(id, value)
    return this.#nextVersion(map, id, before)
  }

  /** Returns a version without this value, or this version if it has no such value. */
  without(id: string): Cells<T> {
    const before = this.get(id)
    if (before === undefined) return this
    const map = this.#ownMap()
    map.delete(id)
    return this.#nextVersion(map, id, before)
  }

  /** A version with the same values that shares no `Map` with this one, so that neither keeps the other's writes. */
  alone(): Cells<T> {
    return new Cells(this.#copy())
  }

  /** The values of this version, in no guaranteed order. */
  values(): readonly T[] {
    return [...(this.#map ?? this.#copy()).values()]
  }

  /** A `Map` with this version's values that may be changed. */
  #ownMap(): Map<string, T> {
    return this.#map && this.#writesLeft > 0 ? this.#map : this.#copy()
  }

  /**
   * The version after a write to `map`. If the map is this version's own, hands it over and remembers the old value. If
   * it is a copy, this version stays as it is.
   */
  #nextVersion(map: Map<string, T>, id: string, before: T | undefined): Cells<T> {
    if (map !== this.#map) return new Cells(map)
    const next = new Cells(map, this.#writesLeft - 1)
    this.#next = next
    this.#id = id
    this.#before = before
    this.#map = undefined
    return next
  }

  /** A new `Map` with the values as of this version. */
  #copy(): Map<string, T> {
    const replaced = new Map<string, T | undefined>()
    let version: Cells<T> = this
    for (; version.#next; version = version.#next) {
      if (version.#id !== undefined && !replaced.has(version.#id)) replaced.set(version.#id, version.#before)
    }
    const map = new Map(version.#map)
    for (const [id, before] of replaced) {
      if (before === undefined) map.delete(id)
      else map.set(id, before)
    }
    return map
  }
}

/** Enough that a copy after that many writes takes almost no time per write. */
const fewestWrites = 1024

/** A map without values. */
export function emptyCells<T extends Identified>(): Cells<T> {
  return new Cells<T>(new Map())
}

/** The value with this id. Undefined if there is none. */
export function cellOf<T extends Identified>(cells: Cells<T>, id: string): T | undefined {
  return cells.get(id)
}

/** The map with a value added, or replaced. */
export function withCell<T extends Identified>(cells: Cells<T>, value: T): Cells<T> {
  return cells.with(value)
}

/** The map without this value. The same map if it has no such value. */
export function withoutCell<T extends Identified>(cells: Cells<T>, id: string): Cells<T> {
  return cells.without(id)
}

/** The map's values, in no guaranteed order. */
export function cellValues<T extends Identified>(cells: Cells<T>): readonly T[] {
  return cells.values()
}
