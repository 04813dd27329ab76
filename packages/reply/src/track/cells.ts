import { replaceAt } from '../reduce/shape.ts'

/**
 * A persistent map from ids to values that contain them: `withCell` returns a new map and leaves the old one unchanged.
 * Copying a plain `Map` on every event would make a thousand sessions a thousand times as slow as one.
 *
 * The last written value is kept on top and moves to its row when another is written: events come in runs of one
 * session, and during a run nothing is copied.
 */
export interface Cells<T extends Identified> {
  /** The number of values; excludes a newest one that isn't in a row yet. */
  readonly size: number
  readonly newest: T | undefined
  /** May contain an older value of the newest one. */
  readonly rows: readonly Row<T>[]
}

/** A value that contains its own id. */
interface Identified {
  /** Its key in the map. */
  readonly id: string
}

/**
 * Hashes are stored apart from the values: a lookup reads only the value that it finds, which matters with a thousand
 * of them.
 */
interface Row<T> {
  readonly hashes: readonly number[]
  readonly values: readonly T[]
}

const width = 32
const emptyRow: Row<never> = { hashes: [], values: [] }
const emptyRows: readonly Row<never>[] = Array.from({ length: width }, () => emptyRow)

/** A map without values. */
export function emptyCells<T extends Identified>(): Cells<T> {
  return { size: 0, newest: undefined, rows: emptyRows }
}

export function cellOf<T extends Identified>({ newest, rows }: Cells<T>, id: string): T | undefined {
  if (newest !== undefined && newest.id === id) return newest
  const hash = hashOf(id)
  const row = rowOf(rows, hash)
  return row.values[placeIn(row, hash, id)]
}

/** The map with a value added, or replaced. */
export function withCell<T extends Identified>(cells: Cells<T>, value: T): Cells<T> {
  const { size, rows } = cells.newest?.id === value.id ? cells : settled(cells)
  return { size, newest: value, rows }
}

export function withoutCell<T extends Identified>(cells: Cells<T>, id: string): Cells<T> {
  const { size, rows } = settled(cells)
  const hash = hashOf(id)
  const row = rowOf(rows, hash)
  const at = placeIn(row, hash, id)
  if (at === -1) return cells
  const rest = { hashes: row.hashes.toSpliced(at, 1), values: row.values.toSpliced(at, 1) }
  return { size: size - 1, newest: undefined, rows: replaceAt(rows, hash % width, rest) }
}

export function cellValues<T extends Identified>(cells: Cells<T>): readonly T[] {
  return settled(cells).rows.flatMap((row) => row.values)
}

/** Moves the newest value to its row. */
function settled<T extends Identified>(cells: Cells<T>): Pick<Cells<T>, 'size' | 'rows'> {
  const { size, newest, rows } = cells
  if (newest === undefined) return cells
  const hash = hashOf(newest.id)
  const row = rowOf(rows, hash)
  const at = placeIn(row, hash, newest.id)
  if (at !== -1) {
    const next = { hashes: row.hashes, values: replaceAt(row.values, at, newest) }
    return { size, rows: replaceAt(rows, hash % width, next) }
  }
  const next = { hashes: [...row.hashes, hash], values: [...row.values, newest] }
  return { size: size + 1, rows: replaceAt(rows, hash % width, next) }
}

function rowOf<T>(rows: readonly Row<T>[], hash: number): Row<T> {
  return rows[hash % width] ?? emptyRow
}

function placeIn<T extends Identified>({ hashes, values }: Row<T>, hash: number, id: string): number {
  for (let at = 0; at < hashes.length; at++) if (hashes[at] === hash && values[at]?.id === id) return at
  return -1
}

/** Hashes the end of the id, where OpenCode's ids are random. */
function hashOf(id: string): number {
  let hash = 0
  for (let at = Math.max(0, id.length - 6); at < id.length; at++) hash = (hash * 31 + id.charCodeAt(at)) | 0
  return (hash ^ (hash >>> 15)) & 0x3fffffff
}
