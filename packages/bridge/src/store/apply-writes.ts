import type { Write } from './store.ts'

/** A write that sets a value. */
export type PutWrite = Extract<Write, { readonly type: 'put' }>
/** A write that adds an entry. */
export type EnqueueWrite = Extract<Write, { readonly type: 'enqueue' }>

/** The rows of an engine within a transaction. Expired values count as absent. */
export interface Rows {
  /** Returns the value of a key. Undefined if it has none. */
  read(key: string): string | undefined
  /** Sets or replaces the value, and when it expires from now. */
  put(key: string, value: string, expiresInMs: number | undefined): void
  /** Removes the value. Does nothing if the key has none. */
  remove(key: string): void
  /** Appends an entry. Returns false, and changes nothing, if the queue has that id. */
  enqueue(queue: string, id: string, value: string): boolean
  /** Replaces the value of an entry, which keeps its position. Returns false if the queue lacks that id. */
  replace(queue: string, id: string, value: string): boolean
  /** Removes an entry. Returns false if the queue lacks that id. */
  dequeue(queue: string, id: string): boolean
}

/**
 * Applies writes in order. Returns the index of the first that conflicts, and applies no later ones. The engine then undoes
 * those before it. Undefined if all are applied.
 */
export function applyWrites(rows: Rows, writes: readonly Write[]): number | undefined {
  const conflictIndex = writes.findIndex((write) => !applyWrite(rows, write))
  return conflictIndex === -1 ? undefined : conflictIndex
}

/** Applies one write. Returns false on a conflict, and changes nothing then. */
function applyWrite(rows: Rows, write: Write): boolean {
  switch (write.type) {
    case 'put':
      rows.put(write.key, write.value, write.expiresInMs)
      return true
    case 'put-if-absent':
      if (rows.read(write.key) !== undefined) return false
      rows.put(write.key, write.value, write.expiresInMs)
      return true
    case 'compare-and-set':
      if (rows.read(write.key) !== write.expected) return false
      if (write.value === undefined) rows.remove(write.key)
      else rows.put(write.key, write.value, write.expiresInMs)
      return true
    case 'remove':
      rows.remove(write.key)
      return true
    case 'enqueue':
      return rows.enqueue(write.queue, write.id, write.value)
    case 'replace':
      return rows.replace(write.queue, write.id, write.value)
    case 'dequeue':
      return rows.dequeue(write.queue, write.id)
    default:
      write satisfies never
      return false
  }
}
