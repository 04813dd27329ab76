import { StoreError } from '../store.ts'
import type { Database } from './database.ts'
import { versionIn } from './merging.ts'

/** Says in the file's header that it is ours: "rply". */
const applicationId = 0x72706c79

/**
 * From each version to the next. Add to it, and change no entry once it has been released. Keys, queues and ids are
 * bytes (see `keyBytes`), values texts or bytes (`packed`). A queue's entries arrive in the order of `position`.
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
   ) STRICT;`,
]

/** Brings a file to this version, and writes nothing into a file that is newer or not ours. */
export function migrate(database: Database, file: string): void {
  checkVersion(database, file)
  // Readers never wait for a writer. `exec` ignores the row that the pragma returns.
  if (database.pragma('journal_mode = WAL') !== 'wal')
    throw new StoreError(
      'failed',
      `The state ${file} needs a local disk: this one can't share memory between processes.`,
    )
  // A commit returns when the disk has it. macOS needs these for that: https://www.sqlite.org/pragma.html
  database.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  database.waitForDisk(true)
  if (checkVersion(database, file) === migrations.length) return
  database.transact(() => {
    // Another process may have been first.
    const version = checkVersion(database, file)
    for (const sql of migrations.slice(version)) database.exec(sql)
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`)
    return { keep: true, result: undefined }
  })
}

/** The file's version; 0 for an empty file. Throws a `StoreError` if it is newer, not ours, or lacks its WAL. */
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
