/**
 * A persistent map from session ids: `withCell` gives a new map and leaves the old one as it was, at the price of copying
 * one small bucket. A plain `Map` copied for every event would make a thousand sessions a thousand times as slow as one.
 */
export interface Cells<T> {
  readonly rows: readonly (readonly Bucket<T>[] | undefined)[]
  readonly size: number
}

type Bucket<T> = readonly (readonly [id: string, value: T])[]

const width = 32
const emptyRow: readonly never[][] = Array.from({ length: width }, () => [])

export function emptyCells<T>(): Cells<T> {
  return { rows: Array.from({ length: width }, () => undefined), size: 0 }
}

export function cellOf<T>(cells: Cells<T>, id: string): T | undefined {
  const hash = hashOf(id)
  const bucket = cells.rows[hash % width]?.[hash >>> 5]
  if (bucket) for (const entry of bucket) if (entry[0] === id) return entry[1]
  return undefined
}

export function withCell<T>(cells: Cells<T>, id: string, value: T): Cells<T> {
  const bucket = bucketOf(cells, id)
  const at = bucket.findIndex((entry) => entry[0] === id)
  if (at === -1) return withBucket(cells, id, [...bucket, [id, value]], cells.size + 1)
  const next = bucket.slice()
  next[at] = [id, value]
  return withBucket(cells, id, next, cells.size)
}

export function withoutCell<T>(cells: Cells<T>, id: string): Cells<T> {
  const bucket = bucketOf(cells, id)
  const next = bucket.filter((entry) => entry[0] !== id)
  return next.length === bucket.length ? cells : withBucket(cells, id, next, cells.size - 1)
}

export function cellValues<T>(cells: Cells<T>): T[] {
  return cells.rows.flatMap((row) => (row ?? []).flatMap((bucket) => bucket.map((entry) => entry[1])))
}

function bucketOf<T>(cells: Cells<T>, id: string): Bucket<T> {
  const hash = hashOf(id)
  return cells.rows[hash % width]?.[hash >>> 5] ?? []
}

function withBucket<T>(cells: Cells<T>, id: string, bucket: Bucket<T>, size: number): Cells<T> {
  const hash = hashOf(id)
  const row: Bucket<T>[] = (cells.rows[hash % width] ?? emptyRow).slice()
  row[hash >>> 5] = bucket
  const rows = cells.rows.slice()
  rows[hash % width] = row
  return { rows, size }
}

/** Ten bits of the id's end, where OpenCode's ids are random. */
function hashOf(id: string): number {
  let hash = 0
  for (let at = Math.max(0, id.length - 8); at < id.length; at++) hash = (hash * 31 + id.charCodeAt(at)) | 0
  return (hash ^ (hash >>> 10) ^ (hash >>> 20)) & 1023
}
