import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { otherUsersWith } from '../../config/file-permissions.ts'
import { StoreError } from '../store.ts'
import { toStoreError } from './errors.ts'

/** A parameter of a statement, or a column of a row. */
export type Column = string | number | Buffer | null

/** A prepared statement. Throws a `StoreError`. */
export interface Statement {
  /** Returns the columns of the first row. Undefined if there is no row. */
  first(...values: readonly Column[]): readonly unknown[] | undefined
  /** Returns the columns of each row. */
  rows(...values: readonly Column[]): readonly (readonly unknown[])[]
  /** Returns how many rows it changed. */
  run(...values: readonly Column[]): number
}

/** One connection to a database file. All calls are synchronous and throw a `StoreError`. */
export interface Database {
  /** Prepares a statement to run several times. */
  prepare(sql: string): Statement
  /** Runs statements, and ignores their rows. */
  exec(sql: string): void
  /** Returns the first value of a pragma. Undefined if it returns no row. */
  pragma(name: string): unknown
  /** Sets whether later transactions sync the disk before they return. Don't call it within a transaction. */
  setSynced(isSyncWanted: boolean): void
  /** Like `transact`, for a part of a transaction that can be undone separately. Call it within `transact`. */
  withSavepoint<Result>(run: () => { readonly keep: boolean; readonly result: Result }): Result
  /** Runs with the file locked for other writers. Commits if `run` returns `keep: true`, and rolls back otherwise. */
  transact<Result>(run: () => { readonly keep: boolean; readonly result: Result }): Result
  /** Closes the connection. Later calls throw. */
  close(): void
}

/**
 * Opens a file. If it is missing, creates it with mode 600, and its folder with mode 700. Rejects with a `StoreError`, for
 * example if others can read the file.
 */
export async function openDatabase(file: string, busyTimeoutMs: number): Promise<Database> {
  try {
    // Loaded on demand: it has a native binary, which a program with another store may not have installed.
    const { default: Libsql } = await import('libsql')
    prepareFile(file)
    const connection = new Libsql(file)
    connection.exec(`PRAGMA busy_timeout = ${Math.ceil(busyTimeoutMs)}`)
    return databaseOf(connection, file)
  } catch (error) {
    throw toStoreError(file, error)
  }
}

/**
 * Creates a missing file and folder that only their owner can read, and restricts existing ones. Throws if others may have read
 * the file, or if it can't be used. SQLite gives its other files the mode of this one. An existing file is not opened here:
 * closing it would release the locks of this process's other connections, see
 * https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 */
function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  requirePrivate(file)
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!existsSync(file)) throw error
  }
  restrictFolder(dirname(file))
  const stats = statSync(file)
  if (!stats.isFile())
    throw new StoreError('failed', `The state ${file} is not a file. Name another folder for the state.`)
  if ((stats.mode & 0o077) !== 0) chmodSync(file, 0o600)
  // SQLite would open it and fail at the first write.
  accessSync(file, constants.R_OK | constants.W_OK)
}

/** Throws a `StoreError` if others can read the state, because they may have copied it. Accepts a missing file. */
export function requirePrivate(file: string): void {
  const readers = existsSync(file) ? otherUsersWith(file, 'read') : undefined
  if (readers === undefined) return
  const who = readers === 'others' ? 'Every user of this computer' : 'Its group'
  throw new StoreError(
    'failed',
    `${who} can read the state ${file}. Run "chmod 600" on it and "chmod 700" on its folder.`,
  )
}

/** Sets mode 700 on a folder on which others have any right. Throws like `needsRestriction`. */
function restrictFolder(folder: string): void {
  if (needsRestriction(folder)) chmodSync(folder, 0o700)
}

/**
 * Whether the folder of a state must still be restricted to its owner, because others have any right on it. Throws a
 * `StoreError` if the folder then has files besides the state, because others may be meant to use those.
 */
export function needsRestriction(folder: string): boolean {
  const mode = statSync(folder).mode & 0o777
  if ((mode & 0o077) === 0) return false
  const otherFiles = readdirSync(folder).filter((name) => !name.startsWith('bridge.db'))
  if (otherFiles.length === 0) return true
  throw new StoreError(
    'failed',
    `Others on this computer can read the folder ${folder} (mode ${mode.toString(8)}). Run "chmod 700" on it, or name another folder for the state.`,
  )
}

/** Wraps a connection. All methods convert the driver's errors to a `StoreError`. */
function databaseOf(connection: import('libsql').Database, file: string): Database {
  const begin = prepare('BEGIN IMMEDIATE')
  const commit = prepare('COMMIT')
  let isSynced: boolean | undefined
  return {
    prepare,
    exec,
    pragma,
    setSynced,
    withSavepoint,
    transact,
    close: () => withStoreErrors(() => void connection.close()),
  }

  /** Prepares a statement, whose rows are arrays of columns. All its calls convert errors to a `StoreError`. */
  function prepare(sql: string): Statement {
    const statement = withStoreErrors(() => {
      const prepared = connection.prepare(sql)
      return prepared.reader ? prepared.raw() : prepared
    })
    // Values are passed as an array, because the driver takes a single object for named values. A statement that is not
    // read to its end keeps its snapshot, and a later transaction fails. `all` reads to the end, and `get` resets.
    return {
      first: (...values) => withStoreErrors(() => columnsOf(statement.get([...values]))),
      rows: (...values) => withStoreErrors(() => statement.all([...values]).map((row) => columnsOf(row) ?? [])),
      run: (...values) => withStoreErrors(() => statement.run([...values]).changes),
    }
  }

  /** Runs statements, and ignores their rows. */
  function exec(sql: string): void {
    withStoreErrors(() => void connection.exec(sql))
  }

  /** Returns the first column of the first row. Undefined if there is no row. */
  function pragma(name: string): unknown {
    return prepare(`PRAGMA ${name}`).first()?.[0]
  }

  /**
   * Sets whether each commit is synced to the disk, so that it survives a crash of the machine. Does nothing if it is set
   * already.
   */
  function setSynced(isSyncWanted: boolean): void {
    if (isSyncWanted !== isSynced) exec(`PRAGMA synchronous = ${isSyncWanted ? 'FULL' : 'NORMAL'}`)
    isSynced = isSyncWanted
  }

  /**
   * Runs a transaction, and returns its result. Commits if `run` returns `keep: true`. Otherwise, or if it throws, rolls back.
   * Throws what `run` throws, and if the file stays locked by another process, or the commit fails.
   */
  function transact<Result>(run: () => { readonly keep: boolean; readonly result: Result }): Result {
    begin.run()
    try {
      const { keep, result } = run()
      if (keep) commitOrUndo()
      return result
    } finally {
      // SQLite rolls back by itself after some errors, for example when the disk is full.
      if (connection.inTransaction) exec('ROLLBACK')
    }
  }

  /**
   * Commits. If that fails, rolls back, overwrites what the WAL has of the transaction, and throws. After a failed sync,
   * SQLite rolls the transaction back for all connections, but its frames stay in the WAL and would be applied after a
   * crash: https://www.sqlite.org/walformat.html#recovery.
   */
  function commitOrUndo(): void {
    try {
      commit.run()
    } catch (error) {
      if (connection.inTransaction) exec('ROLLBACK')
      overwriteFailedFrames()
      throw error
    }
  }

  /**
   * Writes a transaction that changes nothing over the frames of a failed one, so that a crash does not apply those. Even if it
   * fails to sync too, its frames replace them. If it can't begin because another process is writing, that one's frames do.
   * Never throws.
   */
  function overwriteFailedFrames(): void {
    try {
      begin.run()
      exec(`PRAGMA user_version = ${Number(pragma('user_version'))}`)
      commit.run()
    } catch {
      // The first error is the one that is thrown.
    } finally {
      if (connection.inTransaction) exec('ROLLBACK')
    }
  }

  /**
   * Runs a part of a transaction, and returns its result. Rolls back only this part if `keep` is false. An error is passed on,
   * and leaves the rollback to `transact`.
   */
  function withSavepoint<Result>(run: () => { readonly keep: boolean; readonly result: Result }): Result {
    exec('SAVEPOINT part')
    const { keep, result } = run()
    exec(keep ? 'RELEASE part' : 'ROLLBACK TO part; RELEASE part')
    return result
  }

  /** Returns the result of `run`. Converts what it throws to a `StoreError`. */
  function withStoreErrors<Result>(run: () => Result): Result {
    try {
      return run()
    } catch (error) {
      throw toStoreError(file, error)
    }
  }
}

/** Returns the columns of a row. Undefined if there is no row. */
function columnsOf(row: unknown): readonly unknown[] | undefined {
  return Array.isArray(row) ? row : undefined
}
