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
import { openTo } from '../../config/file-permissions.ts'
import { StoreError } from '../store.ts'
import { failureOf } from './errors.ts'

/** What a statement takes and a row holds. */
export type Column = string | number | Buffer | null

/** A prepared statement. Throws a `StoreError`. */
export interface Statement {
  /** The columns of the first row. */
  first(...values: readonly Column[]): readonly unknown[] | undefined
  /** The columns of all rows. */
  rows(...values: readonly Column[]): readonly (readonly unknown[])[]
  /** Resolves with how many rows it changed. */
  run(...values: readonly Column[]): number
}

/** One connection to a database file. All calls are synchronous and throw a `StoreError`. */
export interface Database {
  prepare(sql: string): Statement
  exec(sql: string): void
  /** The only value of a pragma. */
  pragma(name: string): unknown
  /** Whether later transactions return when the disk has them, and all before them. Not within a transaction. */
  waitForDisk(isWanted: boolean): void
  /** Within `transact`: the same for a part of it, which is undone alone. */
  nested<Result>(run: () => { readonly keep: boolean; readonly result: Result }): Result
  /** Runs with the file locked for other writers. Keeps what was written if `run` says so, and undoes it otherwise. */
  transact<Result>(run: () => { readonly keep: boolean; readonly result: Result }): Result
  close(): void
}

/** Opens a file, which is made if it is missing: for its owner alone, like the folder. */
export async function openDatabase(file: string, busyTimeoutMs: number): Promise<Database> {
  try {
    // On demand: it loads a binary, which a program with another store may lack.
    const { default: Libsql } = await import('libsql')
    prepareFile(file)
    const connection = new Libsql(file)
    connection.exec(`PRAGMA busy_timeout = ${Math.ceil(busyTimeoutMs)}`)
    return databaseOf(connection, file)
  } catch (error) {
    throw failureOf(file, error)
  }
}

/**
 * SQLite gives its other files the mode of this one. A file that is there is not opened here: to close it would end the
 * locks of this process's other connections, see https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 */
function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  requireUnread(file)
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!existsSync(file)) throw error
  }
  guardFolder(dirname(file))
  const stats = statSync(file)
  if (!stats.isFile())
    throw new StoreError('failed', `The state ${file} is not a file. Name another folder for the state.`)
  if ((stats.mode & 0o077) !== 0) chmodSync(file, 0o600)
  // SQLite would open it and fail at the first write.
  accessSync(file, constants.R_OK | constants.W_OK)
}

/** What others may have read is not used on: their copy has what the state has. */
export function requireUnread(file: string): void {
  const readers = existsSync(file) ? openTo(file, 'read') : undefined
  if (readers === undefined) return
  const who = readers === 'others' ? 'Every user of this computer' : 'Its group'
  const words = `${who} can read the state ${file}. Run "chmod 600" on it and "chmod 700" on its folder.`
  throw new StoreError('failed', words)
}

/** A folder that was made by hand is closed to others if it has nothing else in it. */
function guardFolder(folder: string): void {
  if (isOpenToOthers(folder)) chmodSync(folder, 0o700)
}

/** Whether others can read a folder. Throws if it has files besides the state, for which that may be wanted. */
export function isOpenToOthers(folder: string): boolean {
  const mode = statSync(folder).mode & 0o777
  if ((mode & 0o077) === 0) return false
  const others = readdirSync(folder).filter((name) => !name.startsWith('bridge.db'))
  if (others.length === 0) return true
  throw new StoreError(
    'failed',
    `Others on this computer can read the folder ${folder} (mode ${mode.toString(8)}). Run "chmod 700" on it, or name another folder for the state.`,
  )
}

function databaseOf(connection: import('libsql').Database, file: string): Database {
  const begin = prepare('BEGIN IMMEDIATE')
  const commit = prepare('COMMIT')
  let isWaiting: boolean | undefined
  return { prepare, exec, pragma, waitForDisk, nested, transact, close: () => attempt(() => void connection.close()) }

  function prepare(sql: string): Statement {
    const statement = attempt(() => {
      const made = connection.prepare(sql)
      return made.reader ? made.raw() : made
    })
    // An array, because the driver takes a single object for named values. A row that is not read to its end keeps its
    // snapshot, so that a later transaction fails: `all` reads to the end, and `get` resets.
    return {
      first: (...values) => attempt(() => columnsOf(statement.get([...values]))),
      rows: (...values) => attempt(() => statement.all([...values]).map((row) => columnsOf(row) ?? [])),
      run: (...values) => attempt(() => statement.run([...values]).changes),
    }
  }

  function exec(sql: string): void {
    attempt(() => void connection.exec(sql))
  }

  function pragma(name: string): unknown {
    return prepare(`PRAGMA ${name}`).first()?.[0]
  }

  function waitForDisk(isWanted: boolean): void {
    if (isWanted !== isWaiting) exec(`PRAGMA synchronous = ${isWanted ? 'FULL' : 'NORMAL'}`)
    isWaiting = isWanted
  }

  function transact<Result>(run: () => { readonly keep: boolean; readonly result: Result }): Result {
    begin.run()
    try {
      const { keep, result } = run()
      if (keep) commitOrUndo()
      return result
    } finally {
      // SQLite ends the transaction itself after some errors, such as a full disk.
      if (connection.inTransaction) exec('ROLLBACK')
    }
  }

  /**
   * If the disk fails to sync, SQLite undoes the transaction for all that are connected, but its frames are in the log, and
   * after a crash they would count: https://www.sqlite.org/walformat.html#recovery. Another transaction takes their place.
   */
  function commitOrUndo(): void {
    try {
      commit.run()
    } catch (error) {
      if (connection.inTransaction) exec('ROLLBACK')
      overwrite()
      throw error
    }
  }

  /** That its sync fails, too, changes nothing: its frames are in the log. A process that is writing does the same. */
  function overwrite(): void {
    try {
      begin.run()
      exec(`PRAGMA user_version = ${Number(pragma('user_version'))}`)
      commit.run()
    } catch {
      // What failed first is reported.
    } finally {
      if (connection.inTransaction) exec('ROLLBACK')
    }
  }

  function nested<Result>(run: () => { readonly keep: boolean; readonly result: Result }): Result {
    exec('SAVEPOINT part')
    const { keep, result } = run()
    exec(keep ? 'RELEASE part' : 'ROLLBACK TO part; RELEASE part')
    return result
  }

  function attempt<Result>(run: () => Result): Result {
    try {
      return run()
    } catch (error) {
      throw failureOf(file, error)
    }
  }
}

function columnsOf(row: unknown): readonly unknown[] | undefined {
  return Array.isArray(row) ? row : undefined
}
