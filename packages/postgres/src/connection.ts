import { StoreError } from '@reply/bridge'
import { systemClock } from '@reply/core'
import pg from 'pg'
import { closedError, isAboutSession, toStoreError } from './errors.ts'

/** One connection of a pool, which is opened again after it was lost. */
export interface Connection {
  /** Opens the connection, unless it is open. Rejects with a `StoreError`. Nothing was sent then. */
  open(): Promise<void>
  /**
   * Runs one statement on the open connection, and resolves with its rows. Rejects with an error of `pg`. If the connection
   * was lost, or the answer takes longer than `timeoutMs`, the statement may have been executed.
   */
  query<Row extends pg.QueryResultRow>(
    sql: string,
    values: readonly unknown[],
    timeoutMs: number,
  ): Promise<readonly Row[]>
  /** Gives the connection back to the pool. Later calls reject. */
  close(): void
}

/** How long it may take to connect, in ms. */
export const connectMs = 2000

/** Creates a connection of a pool. It is not opened yet. `server` is the address for error messages. */
export function createConnection(pool: pg.Pool, server: string): Connection {
  let client: pg.PoolClient | undefined
  let isClosed = false
  let opening: Promise<void> | undefined
  let waiting = 0
  let last = Promise.resolve()
  return { open, query, close }

  /** Opens a connection that is used until it is lost. Joins a call in progress. */
  async function open(): Promise<void> {
    if (client) return
    opening ??= connect().finally(() => {
      opening = undefined
    })
    await opening
  }

  /** Takes a connection of the pool. */
  async function connect(): Promise<void> {
    if (isClosed) throw closedError()
    const isExhausted = pool.idleCount === 0 && pool.totalCount >= sizeOf(pool)
    const connecting = pool.connect()
    try {
      keep(await withTimeout(connecting, connectMs))
    } catch (error) {
      // It may still connect.
      void connecting.then((late) => late.release(true)).catch(() => {})
      if (isExhausted)
        throw new StoreError(
          'busy',
          `All ${sizeOf(pool)} connections of the pool are in use. Raise its \`max\`: each store needs two.`,
          { cause: error },
        )
      throw toStoreError(server, error)
    }
  }

  /** Uses a connection until it is lost. Throws after `close`. */
  function keep(opened: pg.PoolClient): void {
    if (isClosed) throw closedError()
    client = opened
    opened.on('error', giveUp)
  }

  /** Runs one statement after those before it. Gives the connection up if it was lost, is too slow, or can't be used. */
  async function query<Row extends pg.QueryResultRow>(
    sql: string,
    values: readonly unknown[],
    timeoutMs: number,
  ): Promise<readonly Row[]> {
    const before = last
    const rows = before.then(() => queryNow<Row>(sql, values, timeoutMs))
    last = rows.then(
      () => {},
      () => {},
    )
    waiting++
    return await rows.finally(() => waiting--)
  }

  /** Runs one statement. */
  async function queryNow<Row extends pg.QueryResultRow>(
    sql: string,
    values: readonly unknown[],
    timeoutMs: number,
  ): Promise<readonly Row[]> {
    const used = client
    if (!used) throw new Error('Connection terminated')
    try {
      return (await withTimeout(used.query<Row>(sql, [...values]), timeoutMs)).rows
    } catch (error) {
      if (used === client && (!isAboutStatement(error) || isAboutSession(error))) giveUp()
      throw error
    }
  }

  /** Gives the connection back to the pool, which ends it. */
  function giveUp(): void {
    giveBack(true)
  }

  /** Gives the connection back to the pool, which ends it if it is broken. */
  function giveBack(isBroken: boolean): void {
    const used = client
    client = undefined
    used?.off('error', giveUp)
    used?.release(isBroken)
  }

  /** Gives the connection back for good. */
  function close(): void {
    isClosed = true
    // A statement that still runs must not give its answer to the pool's next user.
    giveBack(waiting > 0)
  }
}

/** Resolves as the call does. Rejects after a time. */
export async function withTimeout<T>(call: Promise<T>, timeoutMs: number): Promise<T> {
  let stopTimer = (): void => {}
  const late = new Promise<never>((_, reject) => {
    stopTimer = systemClock.after(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)))
  })
  return await Promise.race([call, late]).finally(() => stopTimer())
}

/** Returns the address of a database without user and password, for example `db.example:5432/bridge`. */
export function addressOf(connection: pg.ClientConfig): string {
  const { host, port, database } = new pg.Client(connection)
  return `${host}:${port}/${database}`
}

/** Returns how many connections a pool may have. */
export function sizeOf(pool: pg.Pool): number {
  // The default of `pg`.
  return pool.options.max ?? 10
}

/** Whether the server refused the statement. If it also ends the connection, that is an event of its own. */
function isAboutStatement(error: unknown): boolean {
  return error instanceof Error && 'severity' in error
}
