import { StoreError } from '../store.ts'
import type { Database } from './database.ts'

/*
 * SQLite keeps the newest writes in a file of its own, the WAL. If that file is missing, SQLite opens the database without
 * those writes and without an error: https://www.sqlite.org/wal.html#the_wal_file. So the database has a mark that says
 * whether it needs a WAL, in `user_version` above the state's version:
 *
 * - `behind`: the WAL has newer writes, including the one that sets `open`. If this mark is read, the WAL is missing.
 * - `open`: a process uses the database, or died. The database may be complete without its WAL.
 * - `closed`: the database is complete.
 */
const marks = { closed: 0, open: 1, behind: 2 } as const

/** The state's version is `user_version` modulo this. */
const versions = 0x100

/** Returns the state's version. Throws a `StoreError` if the file needs a WAL that is missing. */
export function versionIn(database: Database, file: string): number {
  for (let tries = 0; tries < 3; tries++) {
    const stored = Number(database.pragma('user_version'))
    const isBehind = Math.floor(stored / versions) === marks.behind
    // During a merge, or after a crash in one, the WAL is not empty.
    if (!isBehind || !isWalEmpty(database)) return stored % versions
    // A process that begins a merged WAL anew leaves it empty until it has committed, so this waits for its commit.
    database.transact(() => ({ keep: false, result: undefined }))
  }
  throw new StoreError(
    'failed',
    `The state ${file} lacks what was written last, because its file ${file}-wal is missing or damaged. A copy of a running bridge's state needs both files. Put that file back beside it, restore a backup, or move the state away to start with an empty one.`,
  )
}

/**
 * Whether the WAL is missing or has no frame that SQLite can use. False while another process merges it, because that
 * process found it. A checkpoint reports `busy, frames, merged`: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint.
 * While it is busy, the number of frames is -1.
 */
function isWalEmpty(database: Database): boolean {
  const [busy, frames] = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').first() ?? []
  return Number(busy ?? 0) === 0 && Number(frames ?? 0) <= 0
}

/** Merges the WAL into the database (a checkpoint) when it has grown. */
export interface WalMerger {
  /** Call it after each transaction, with the estimated number of bytes that it wrote. Never throws a `StoreError`. */
  addAndMerge(bytes: number): void
  /** Merges the whole WAL. Call it before you close the database. Throws a `StoreError` if that fails. */
  mergeAll(): void
}

/** The WAL is merged after this many bytes: SQLite's own default of 1,000 pages. */
const mergeBytes = 4_096_000
/** The least that a transaction writes, in bytes: a few pages. */
const leastBytes = 16_384

/**
 * Merges the WAL into the file. Turns off SQLite's own merging. The first transaction merges what an earlier process left.
 */
export function createWalMerger(database: Database): WalMerger {
  database.exec('PRAGMA wal_autocheckpoint = 0')
  let unmergedBytes = mergeBytes
  let isMarked = false
  return { addAndMerge, mergeAll }

  /**
   * Counts the bytes that a transaction wrote, and merges the WAL into the database once there are enough. Marks the database
   * meanwhile, so that a missing WAL is noticed. A merge that fails is retried after the next transaction.
   */
  function addAndMerge(writtenBytes: number): void {
    unmergedBytes += leastBytes + writtenBytes
    if (unmergedBytes < mergeBytes) return
    try {
      database.setSynced(true)
      setMark('behind')
      isMarked = true
      // Does not wait for other readers or writers.
      database.exec('PRAGMA wal_checkpoint(PASSIVE)')
      setMark('open')
      unmergedBytes = 0
    } catch (error) {
      // The transaction itself succeeded. The merge is retried after the next one.
      if (!(error instanceof StoreError)) throw error
    }
  }

  /**
   * Merges the whole WAL. Marks the file as closed if this process marked it before. Throws a `StoreError` if the merge fails,
   * but ignores a failing mark.
   */
  function mergeAll(): void {
    try {
      if (isMarked) setMark('closed')
    } catch (error) {
      // Another process is writing. The mark stays `open`, which is harmless.
      if (!(error instanceof StoreError)) throw error
    }
    // Merges everything, so that a copy of this one file is a backup.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  /** Stores a mark in the file beside the state's version, which stays the same. */
  function setMark(name: keyof typeof marks): void {
    const version = Number(database.pragma('user_version')) % versions
    database.exec(`PRAGMA user_version = ${marks[name] * versions + version}`)
  }
}
