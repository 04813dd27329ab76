/**
 * A persistent map from session ids: `withCell` gives a new map and leaves the old one as it was. A plain `Map` copied for
 * every event would make a thousand sessions a thousand times as slow as one.
 *
 * The entry written last lies on top and goes to its place when another is written: events come in runs of one session,
 * and while they do nothing is copied.
 */
export interface Cells<T> {
  readonly size: number
  readonly newest: Entry<T> | undefined
  /** May hold an older value of the newest entry. */
  readonly rows: Rows<T>
}

type Rows<T> = readonly (readonly Bucket<T>[] | undefined)[]
type Bucket<T> = readonly Entry<T>[]
type Entry<T> = readonly [id: string, value: T]

const width = 32
const emptyRow: readonly never[][] = Array.from({ length: width }, () => [])

export function emptyCells<T>(): Cells<T> {
  return { size: 0, newest: undefined, rows: Array.from({ length: width }, () => undefined) }
}

export function cellOf<T>({ newest, rows }: Cells<T>, id: string): T | undefined {
  if (newest !== undefined && newest[0] === id) return newest[1]
  for (const entry of bucketOf(rows, hashOf(id))) if (entry[0] === id) return entry[1]
  return undefined
}

export function withCell<T>(cells: Cells<T>, id: string, value: T): Cells<T> {
  const { size, newest, rows } = cells
  if (newest !== undefined && newest[0] === id) return { size, newest: [id, value], rows }
  const isNew = cellOf(cells, id) === undefined
  return { size: isNew ? size + 1 : size, newest: [id, value], rows: settledRows(cells) }
}

export function withoutCell<T>(cells: Cells<T>, id: string): Cells<T> {
  const rows = settledRows(cells)
  const hash = hashOf(id)
  const bucket = bucketOf(rows, hash)
  const rest = bucket.filter((entry) => entry[0] !== id)
  if (rest.length === bucket.length) return cells
  return { size: cells.size - 1, newest: undefined, rows: withBucket(rows, hash, rest) }
}

export function cellValues<T>(cells: Cells<T>): T[] {
  return settledRows(cells).flatMap((row) => (row ?? []).flatMap((bucket) => bucket.map((entry) => entry[1])))
}

/** The rows with the newest entry in its place. */
function settledRows<T>({ newest, rows }: Cells<T>): Rows<T> {
  return newest === undefined ? rows : withEntry(rows, newest)
}

function withEntry<T>(rows: Rows<T>, entry: Entry<T>): Rows<T> {
  const hash = hashOf(entry[0])
  const bucket = bucketOf(rows, hash)
  const at = bucket.findIndex((other) => other[0] === entry[0])
  const next = bucket.slice()
  next[at === -1 ? bucket.length : at] = entry
  return withBucket(rows, hash, next)
}

function bucketOf<T>(rows: Rows<T>, hash: number): Bucket<T> {
  return rows[hash % width]?.[hash >>> 5] ?? []
}

function withBucket<T>(rows: Rows<T>, hash: number, bucket: Bucket<T>): Rows<T> {
  const row: Bucket<T>[] = (rows[hash % width] ?? emptyRow).slice()
  row[hash >>> 5] = bucket
  const next = rows.slice()
  next[hash % width] = row
  return next
}

/** Ten bits of the id's end, where OpenCode's ids are random. */
function hashOf(id: string): number {
  let hash = 0
  for (let at = Math.max(0, id.length - 8); at < id.length; at++) hash = (hash * 31 + id.charCodeAt(at)) | 0
  return (hash ^ (hash >>> 10) ^ (hash >>> 20)) & 1023
}
