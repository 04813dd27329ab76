import { StoreError } from '../store.ts'
import type { Database } from './database.ts'

/*
 * SQLite keeps what was written last in a file of its own, the WAL, and opens a database without it as if nothing had
 * been written since it was merged: https://www.sqlite.org/wal.html#the_wal_file. So the database says whether it is
 * behind its WAL. The mark is in `user_version`, above the state's version:
 *
 * - `behind`: only what the WAL has makes it `open`. Seen without a WAL, that WAL is missing.
 * - `open`: a process works with it, or died. All may be in it.
 * - `closed`: all is in it.
 */
const marks = { closed: 0, open: 1, behind: 2 } as const

/** The part of `user_version` that is the state's version. */
const versions = 0x100

/** The state's version. Throws a `StoreError` if the file is behind a WAL that is missing. */
export function versionIn(database: Database, file: string): number {
  const stored = Number(database.pragma('user_version'))
  const isBehind = Math.floor(stored / versions) === marks.behind
  // A process that is just merging, or died then, has a WAL with something in it.
  if (isBehind && walFrames(database) === 0)
    throw new StoreError(
      'failed',
      `The state ${file} lacks what was written last, because its file ${file}-wal is missing or damaged: a copy needs both, unless the bridge was stopped before. Put that file back beside it, restore a backup, or move the state away: a new one begins empty.`,
    )
  return stored % versions
}

/** How much the WAL has, in pages. Merging tells: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint */
function walFrames(database: Database): number {
  const [, frames] = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').first() ?? []
  return Math.max(0, Number(frames ?? 0))
}

/** Merges the WAL into the database from time to time. */
export interface Merging {
  /** Call it after each transaction, with about how many bytes it wrote. Never throws. */
  wrote(bytes: number): void
  /** Merges all of it at the end. */
  close(): void
}

/** After how many bytes the WAL is merged: as many as SQLite's own default, 1,000 pages. */
const mergeBytes = 4_096_000
/** What a transaction writes at least, in bytes: a few pages. */
const leastBytes = 16_384

export function createMerging(database: Database): Merging {
  database.exec('PRAGMA wal_autocheckpoint = 0')
  let bytes = mergeBytes
  let isMarked = false
  return { wrote, close }

  function wrote(count: number): void {
    bytes += leastBytes + count
    if (bytes < mergeBytes) return
    try {
      database.waitForDisk(true)
      mark('behind')
      isMarked = true
      // Does what it can beside others who read or write.
      database.exec('PRAGMA wal_checkpoint(PASSIVE)')
      mark('open')
      bytes = 0
    } catch (error) {
      // What was written is written. The next transaction tries again.
      if (!(error instanceof StoreError)) throw error
    }
  }

  function close(): void {
    try {
      if (isMarked) mark('closed')
    } catch (error) {
      // Another process is writing. The file stays marked as open, which costs nothing.
      if (!(error instanceof StoreError)) throw error
    }
    // Moves everything into the one file, so that a copy of it is a backup.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  function mark(name: keyof typeof marks): void {
    const version = Number(database.pragma('user_version')) % versions
    database.exec(`PRAGMA user_version = ${marks[name] * versions + version}`)
  }
}
