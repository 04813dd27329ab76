import type { Clock } from '@reply/core'
import type { KeptLease } from '../leasing.ts'
import type { Lease, QueuedValue, StoredValue } from '../store.ts'
import type { Rows } from '../writing.ts'
import type { Database } from './database.ts'
import { afterPrefix, keyBytes, keyText, packed, unpacked } from './text.ts'

/** The tables of `migrate` as what they mean. */
export interface Tables extends Rows {
  list(prefix: string): readonly StoredValue[]
  queue(name: string): readonly QueuedValue[]
  queues(prefix: string): readonly string[]
  leased(name: string): KeptLease | undefined
  take(lease: KeptLease): void
  /** Lets a lease run out, if it is still this one. Its row stays, so that its fence goes on. */
  release(lease: Lease): void
  sweep(): number
}

const alive = '(expires_at IS NULL OR expires_at > ?)'

export function tablesOf(database: Database, clock: Clock): Tables {
  const { prepare } = database
  const read = prepare(`SELECT value FROM stored WHERE key = ? AND ${alive}`)
  const put = prepare('INSERT OR REPLACE INTO stored (key, value, expires_at) VALUES (?, ?, ?)')
  const remove = prepare('DELETE FROM stored WHERE key = ?')
  const sweep = prepare('DELETE FROM stored WHERE expires_at <= ?')
  const listFrom = prepare(`SELECT key, value FROM stored WHERE key >= ? AND ${alive} ORDER BY key`)
  const listWithin = prepare(`SELECT key, value FROM stored WHERE key >= ? AND ${alive} AND key < ? ORDER BY key`)
  const queue = prepare('SELECT id, value FROM queued WHERE queue = ? ORDER BY position')
  const queuesFrom = prepare('SELECT DISTINCT queue FROM queued WHERE queue >= ?')
  const queuesWithin = prepare('SELECT DISTINCT queue FROM queued WHERE queue >= ? AND queue < ?')
  // Without a position it gets the one after the highest.
  const enqueue = prepare('INSERT OR IGNORE INTO queued (queue, id, value) VALUES (?, ?, ?)')
  const replace = prepare('UPDATE queued SET value = ? WHERE queue = ? AND id = ?')
  const dequeue = prepare('DELETE FROM queued WHERE queue = ? AND id = ?')
  const leased = prepare('SELECT holder, fence, expires_at FROM leased WHERE name = ?')
  const take = prepare('INSERT OR REPLACE INTO leased (name, holder, fence, expires_at) VALUES (?, ?, ?, ?)')
  const release = prepare('UPDATE leased SET expires_at = 0 WHERE name = ? AND holder = ? AND fence = ?')
  return {
    read: (key) => {
      const row = read.first(keyBytes(key), clock.now())
      return row && unpacked(row[0])
    },
    put: (key, value, expiresAt) => void put.run(keyBytes(key), packed(value), expiresAt ?? null),
    remove: (key) => void remove.run(keyBytes(key)),
    enqueue: (name, id, value) => enqueue.run(keyBytes(name), keyBytes(id), packed(value)) === 1,
    replace: (name, id, value) => replace.run(packed(value), keyBytes(name), keyBytes(id)) === 1,
    dequeue: (name, id) => dequeue.run(keyBytes(name), keyBytes(id)) === 1,
    list: (prefix) => {
      const [from, to] = [keyBytes(prefix), afterPrefix(prefix)]
      const rows = to ? listWithin.rows(from, clock.now(), to) : listFrom.rows(from, clock.now())
      return rows.map(([key, value]) => ({ key: keyText(key), value: unpacked(value) }))
    },
    queue: (name) => queue.rows(keyBytes(name)).map(([id, value]) => ({ id: keyText(id), value: unpacked(value) })),
    queues: (prefix) => {
      const [from, to] = [keyBytes(prefix), afterPrefix(prefix)]
      return (to ? queuesWithin.rows(from, to) : queuesFrom.rows(from)).map(([name]) => keyText(name))
    },
    leased: (name) => {
      const row = leased.first(keyBytes(name))
      return row && { name, holder: unpacked(row[0]), fence: Number(row[1]), expiresAt: Number(row[2]) }
    },
    take: ({ name, holder, fence, expiresAt }) => void take.run(keyBytes(name), packed(holder), fence, expiresAt),
    release: ({ name, holder, fence }) => void release.run(keyBytes(name), packed(holder), fence),
    sweep: () => sweep.run(clock.now()),
  }
}
