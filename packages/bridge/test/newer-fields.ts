import type { Write } from '../src/store/store.ts'
import type { StoreMemory } from '../src/testing.ts'
import { keyWithoutShard } from './shard-rows.ts'

/** A field of a version that is newer than the bridge of the tests. */
const field = '"ofNewerVersion"'

/** The rows that each use writes anew, without a read: the sessions of chats and messages. CONTRIBUTING.md names them. */
const writtenAnew: ReadonlySet<string> = new Set(['session', 'session-chat', 'message'])

/** Adds a field to all rows that are JSON objects, as a newer version would have written them. */
export function addFields({ values, queues }: StoreMemory): void {
  for (const [key, row] of values) {
    // Members compare the text of the layout.
    if (key !== 'layout') values.set(key, { ...row, value: withField(row.value) })
  }
  for (const entries of queues.values()) for (const [id, value] of entries) entries.set(id, withField(value))
}

/** Returns JSON of an object with the field. Returns other texts as they are. */
export function withField(value: string): string {
  return /^\{./.test(value) && value.endsWith('}') && !value.includes(field)
    ? `${value.slice(0, -1)}${value === '{}' ? '' : ','}${field}:1}`
    : value
}

/** The kinds of rows that lose the field by these writes: because they are replaced, or moved to another queue. */
export function lostFields({ values, queues }: StoreMemory, writes: readonly Write[]): readonly string[] {
  return writes.flatMap((write) => {
    if (!('value' in write) || write.value === undefined) return []
    const name = 'queue' in write ? write.queue : write.key
    const [kind = ''] = keyWithoutShard(name).split('/')
    const before = 'queue' in write ? entryBefore(write.queue, write.id) : values.get(write.key)?.value
    if (writtenAnew.has(kind) || !before?.includes(field) || write.value.includes(field)) return []
    return identityIn(before) === identityIn(write.value) ? [kind] : []
  })

  /** The entry that a write replaces or moves. */
  function entryBefore(queue: string, id: string): string | undefined {
    const moved = writes.find((one) => one.type === 'dequeue' && one.id === id)
    return queues.get(queue)?.get(id) ?? (moved && queues.get('queue' in moved ? moved.queue : '')?.get(id))
  }
}

/** What a row is about: the newest run of a session is replaced by another run, and the route by one to another server. */
function identityIn(value: string): string {
  const { id, server } = JSON.parse(value)
  return `${id} ${server}`
}
