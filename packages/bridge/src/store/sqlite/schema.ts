import type { Clock } from '@reply/core'
import type { Rows } from '../apply-writes.ts'
import type { MemberRows, StoredCalls } from '../beat-rules.ts'
import type { StoredLease } from '../lease-rules.ts'
import { type QueuedValue, type StoredValue, StoreError, type StoreLease } from '../store.ts'
import type { Database } from './database.ts'
import { versionIn } from './wal.ts'

/** Typed access to the tables that `migrate` creates. */
export interface Tables extends Rows {
  /** Like `Store.list`. */
  list(prefix: string): readonly StoredValue[]
  /** Like `Store.queue`. */
  queue(name: string): readonly QueuedValue[]
  /** Like `Store.queues`. */
  queues(prefix: string): readonly string[]
  /** Returns the lease as it is stored, even if it has expired. Undefined if it was never taken. */
  storedLease(name: string): StoredLease | undefined
  /**
   * Expires a lease if it is still the current one. Its row stays, so that the fence keeps increasing. Returns false if another
   * took it, or if it was released before.
   */
  expireLease(lease: StoreLease): boolean
  /** Returns the members, and their leases and budgets. */
  memberRows(): MemberRows
  /** Stores all that is not the same object as before, and deletes rows that are missing. Leases are never deleted. */
  putMemberRows(before: MemberRows, after: MemberRows): void
  /** Deletes expired values. Returns how many. */
  sweep(): number
}

const alive = '(expires_at IS NULL OR expires_at > ?)'

/** Prepares the statements of the tables, which must exist: call `migrate` first. */
export function tablesOf(database: Database, clock: Clock): Tables {
  const { prepare } = database
  const read = prepare(`SELECT value FROM stored WHERE key = ? AND ${alive}`)
  const put = prepare('INSERT OR REPLACE INTO stored (key, value, expires_at) VALUES (?, ?, ?)')
  const remove = prepare('DELETE FROM stored WHERE key = ?')
  const sweep = prepare('DELETE FROM stored WHERE expires_at <= ?')
  const listFrom = prepare(`SELECT key, value, expires_at FROM stored WHERE key >= ? AND ${alive} ORDER BY key`)
  const listWithin = prepare(
    `SELECT key, value, expires_at FROM stored WHERE key >= ? AND ${alive} AND key < ? ORDER BY key`,
  )
  const queue = prepare('SELECT id, value FROM queued WHERE queue = ? ORDER BY position')
  const queuesFrom = prepare('SELECT DISTINCT queue FROM queued WHERE queue >= ?')
  const queuesWithin = prepare('SELECT DISTINCT queue FROM queued WHERE queue >= ? AND queue < ?')
  // Without a position, SQLite assigns the one after the highest.
  const enqueue = prepare('INSERT OR IGNORE INTO queued (queue, id, value) VALUES (?, ?, ?)')
  const replace = prepare('UPDATE queued SET value = ? WHERE queue = ? AND id = ?')
  const dequeue = prepare('DELETE FROM queued WHERE queue = ? AND id = ?')
  const leased = prepare('SELECT holder, fence, expires_at FROM leased WHERE name = ?')
  const take = prepare('INSERT OR REPLACE INTO leased (name, holder, fence, expires_at) VALUES (?, ?, ?, ?)')
  const release = prepare(
    'UPDATE leased SET expires_at = 0 WHERE name = ? AND holder = ? AND fence = ? AND expires_at > 0',
  )
  const leases = prepare('SELECT name, holder, fence, expires_at FROM leased')
  const members = prepare('SELECT member, layout, is_alone, groups, expires_at FROM members')
  const putMember = prepare('INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?)')
  const removeMember = prepare('DELETE FROM members WHERE member = ?')
  const shares = prepare('SELECT * FROM shares')
  const putShare = prepare('INSERT OR REPLACE INTO shares VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const removeShare = prepare('DELETE FROM shares WHERE budget = ? AND member = ?')
  const freezes = prepare('SELECT budget, since, until FROM freezes')
  const putFreeze = prepare('INSERT OR REPLACE INTO freezes VALUES (?, ?, ?)')
  const removeFreeze = prepare('DELETE FROM freezes WHERE budget = ?')
  const putLease = ({ name, holder, fence, expiresAt }: StoredLease): void =>
    void take.run(keyBytes(name), packed(holder), fence, expiresAt)
  return {
    read: (key) => {
      const row = read.first(keyBytes(key), clock.now())
      return row && unpacked(row[0])
    },
    put: (key, value, expiresInMs) => {
      put.run(keyBytes(key), packed(value), expiresInMs === undefined ? null : clock.now() + expiresInMs)
    },
    remove: (key) => void remove.run(keyBytes(key)),
    enqueue: (name, id, value) => enqueue.run(keyBytes(name), keyBytes(id), packed(value)) === 1,
    replace: (name, id, value) => replace.run(packed(value), keyBytes(name), keyBytes(id)) === 1,
    dequeue: (name, id) => dequeue.run(keyBytes(name), keyBytes(id)) === 1,
    list: (prefix) => {
      const from = keyBytes(prefix)
      const to = afterPrefix(prefix)
      const now = clock.now()
      const rows = to ? listWithin.rows(from, now, to) : listFrom.rows(from, now)
      return rows.map(([key, value, expiresAt]) => {
        const expiresInMs = expiresAt === null ? undefined : Number(expiresAt) - now
        return { key: keyText(key), value: unpacked(value), expiresInMs }
      })
    },
    queue: (name) => queue.rows(keyBytes(name)).map(([id, value]) => ({ id: keyText(id), value: unpacked(value) })),
    queues: (prefix) => {
      const from = keyBytes(prefix)
      const to = afterPrefix(prefix)
      return (to ? queuesWithin.rows(from, to) : queuesFrom.rows(from)).map(([name]) => keyText(name))
    },
    storedLease: (name) => {
      const row = leased.first(keyBytes(name))
      return row && { name, holder: unpacked(row[0]), fence: Number(row[1]), expiresAt: Number(row[2]) }
    },
    expireLease: ({ name, holder, fence }) => release.run(keyBytes(name), packed(holder), fence) === 1,
    memberRows: () => ({
      members: members.rows().map(([member, layout, isAlone, groups, expiresAt]) => ({
        member: keyText(member),
        layout: unpacked(layout),
        isAlone: isAlone === 1,
        groups: groupsIn(unpacked(groups)),
        expiresAt: Number(expiresAt),
      })),
      leases: leases.rows().map(([name, holder, fence, expiresAt]) => ({
        name: keyText(name),
        holder: unpacked(holder),
        fence: Number(fence),
        expiresAt: Number(expiresAt),
      })),
      shares: shares.rows().map(([budget, member, counted, ...numbers]) => {
        const [demand = 0, growing = 0, share = 0, reserved = 0, expiresAt = 0, windowMs = 0] = numbers.map(Number)
        const part = { demand, growing, share, reserved, expiresAt, windowMs, counted: callsIn(unpacked(counted)) }
        return { budget: keyText(budget), member: keyText(member), ...part }
      }),
      freezes: freezes.rows().map(([budget, since, until]) => {
        return { budget: keyText(budget), since: Number(since), until: Number(until) }
      }),
    }),
    putMemberRows: (before, after) => {
      for (const one of before.members)
        if (!after.members.some(({ member }) => member === one.member)) removeMember.run(keyBytes(one.member))
      for (const { member, layout, isAlone, groups, expiresAt } of added(before.members, after.members))
        putMember.run(keyBytes(member), packed(layout), isAlone ? 1 : 0, packed(JSON.stringify(groups)), expiresAt)
      for (const lease of added(before.leases, after.leases)) putLease(lease)
      for (const one of before.shares)
        if (!after.shares.some(({ budget, member }) => budget === one.budget && member === one.member))
          removeShare.run(keyBytes(one.budget), keyBytes(one.member))
      for (const row of added(before.shares, after.shares)) {
        const { budget, member, demand, growing, share, reserved, expiresAt, windowMs, counted } = row
        const numbers = [demand, growing, share, reserved, expiresAt, windowMs]
        putShare.run(
          keyBytes(budget),
          keyBytes(member),
          packed(JSON.stringify(counted.map(({ calls, until }) => [calls, until]))),
          ...numbers,
        )
      }
      for (const one of before.freezes)
        if (!after.freezes.some(({ budget }) => budget === one.budget)) removeFreeze.run(keyBytes(one.budget))
      for (const { budget, since, until } of added(before.freezes, after.freezes))
        putFreeze.run(keyBytes(budget), since, until)
    },
    sweep: () => sweep.run(clock.now()),
  }
}

/** Returns the rows that are not the same object as before. */
function added<Row>(before: readonly Row[], after: readonly Row[]): readonly Row[] {
  return after.filter((row) => !before.includes(row))
}

/** Decodes the groups of a member. */
function groupsIn(json: string): readonly string[] {
  const groups: unknown = JSON.parse(json)
  return Array.isArray(groups) ? groups.map(String) : []
}

/** Decodes the calls of a share, which are stored as pairs of numbers. */
function callsIn(json: string): readonly StoredCalls[] {
  const pairs: unknown = JSON.parse(json)
  return (Array.isArray(pairs) ? pairs : []).map((pair: unknown) => {
    const [calls = 0, until = 0] = Array.isArray(pair) ? pair.map(Number) : []
    return { calls, until }
  })
}

/**
 * Encodes a string as bytes that sort like strings in JavaScript, by UTF-16 units. SQLite sorts text by UTF-8 bytes, which
 * is by code points.
 */
function keyBytes(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}

/** Decodes `keyBytes`. */
function keyText(bytes: unknown): string {
  return Buffer.from(bytesOf(bytes)).swap16().toString('utf16le')
}

/**
 * Returns the smallest key after all keys that begin with a prefix, as the end of a query for those. Undefined if there is none:
 * for an empty prefix, and one that consists of U+FFFF.
 */
function afterPrefix(prefix: string): Buffer | undefined {
  const bytes = keyBytes(prefix)
  const lastIndex = bytes.findLastIndex((byte) => byte < 0xff)
  const after = bytes.subarray(0, lastIndex + 1)
  after[lastIndex] = (after[lastIndex] ?? 0) + 1
  return lastIndex === -1 ? undefined : after
}

/** Lone surrogates, which UTF-8 can't encode, and U+0000, at which the driver truncates text. */
const unsafe = /[\0\p{Surrogate}]/u

/** Encodes a value for SQLite: as text, or as bytes if SQLite would change the text. */
function packed(value: string): string | Buffer {
  return unsafe.test(value) ? Buffer.from(value, 'utf16le') : value
}

/** Decodes `packed`. A number means that someone edited the row by hand, and becomes text. Throws like `bytesOf`. */
function unpacked(column: unknown): string {
  if (typeof column === 'number') return String(column)
  return typeof column === 'string' ? column : Buffer.from(bytesOf(column)).toString('utf16le')
}

/** Returns a copy of a column's bytes, because `swap16` works in place. Throws if the column has none. */
function bytesOf(column: unknown): Uint8Array {
  if (column instanceof ArrayBuffer || column instanceof Uint8Array) return new Uint8Array(column).slice()
  throw new TypeError(`A column holds a ${typeof column} instead of bytes.`)
}

/** Marks the file as a bridge's, in its header: "rply". */
const applicationId = 0x72706c79

/**
 * The migration from each version to the next. Append to it, and never change a released entry. Keys, queues and ids are
 * bytes (see `keyBytes`). Values are text or bytes (see `packed`). Entries of a queue are ordered by `position`.
 */
const migrations: readonly string[] = [
  `CREATE TABLE stored (key BLOB NOT NULL PRIMARY KEY, value ANY NOT NULL, expires_at REAL) STRICT;
   CREATE INDEX stored_by_expiry ON stored (expires_at) WHERE expires_at IS NOT NULL;
   CREATE TABLE queued (
     position INTEGER PRIMARY KEY, queue BLOB NOT NULL, id BLOB NOT NULL, value ANY NOT NULL, UNIQUE (queue, id)
   ) STRICT;
   CREATE INDEX queued_by_position ON queued (queue, position);
   CREATE TABLE leased (
     name BLOB NOT NULL PRIMARY KEY, holder ANY NOT NULL, fence INTEGER NOT NULL, expires_at REAL NOT NULL
   ) STRICT;
   CREATE TABLE members (
     member BLOB NOT NULL PRIMARY KEY, layout ANY NOT NULL, is_alone INTEGER NOT NULL, groups ANY NOT NULL,
     expires_at REAL NOT NULL
   ) STRICT;
   CREATE TABLE shares (
     budget BLOB NOT NULL, member BLOB NOT NULL, counted ANY NOT NULL, demand REAL NOT NULL, growing REAL NOT NULL,
     share REAL NOT NULL, reserved REAL NOT NULL, expires_at REAL NOT NULL, window_ms REAL NOT NULL,
     PRIMARY KEY (budget, member)
   ) STRICT;
   CREATE TABLE freezes (budget BLOB NOT NULL PRIMARY KEY, since REAL NOT NULL, until REAL NOT NULL) STRICT;`,
]

/**
 * Creates the tables, or migrates a file to this version, and makes commits survive a crash of the machine. Throws for a file
 * that is newer or not a bridge's, and writes nothing then. Throws if the disk does not allow WAL.
 */
export function migrate(database: Database, file: string): void {
  checkVersion(database, file)
  // WAL: readers never wait for a writer.
  if (database.pragma('journal_mode = WAL') !== 'wal')
    throw new StoreError(
      'failed',
      `The state ${file} needs a local disk: this one can't share memory between processes.`,
    )
  syncCommits(database)
  if (checkVersion(database, file) === migrations.length) return
  database.transact(() => {
    // Another process may have migrated it meanwhile.
    const version = checkVersion(database, file)
    for (const sql of migrations.slice(version)) database.exec(sql)
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`)
    return { keep: true, result: undefined }
  })
}

/** Makes the commits of a connection survive a crash of the machine. */
export function syncCommits(database: Database): void {
  // A commit returns after a sync of the disk. macOS needs these for that: https://www.sqlite.org/pragma.html
  database.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  database.setSynced(true)
}

/** Returns the file's version, 0 for an empty file. Throws a `StoreError` if it is newer, not a bridge's, or lacks its WAL. */
export function checkVersion(database: Database, file: string): number {
  const version = versionIn(database, file)
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').first() === undefined
  if (!isEmpty && database.pragma('application_id') !== applicationId)
    throw new StoreError('failed', `The file ${file} belongs to another program. Name another folder for the state.`)
  if (version > migrations.length)
    throw new StoreError(
      'newer',
      `The state ${file} has version ${version}, and this bridge knows up to ${migrations.length}. Install the newer bridge again, or name another folder for the state.`,
    )
  return version
}
