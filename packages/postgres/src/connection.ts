import { systemClock } from '@reply/core'
import type pg from 'pg'
import { toStoreError } from './errors.ts'

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
  /** Gives the connection back to the pool. A later call opens another one. */
  close(): void
}

/** How long it may take to connect, in ms. */
export const connectMs = 2000

/** Creates a connection of a pool. It is not opened yet. `server` is the address for error messages. */
export function createConnection(pool: Pick<pg.Pool, 'connect'>, server: string): Connection {
  let client: pg.PoolClient | undefined
  let opening: Promise<void> | undefined
  let waiting = 0
  let last = Promise.resolve()
  // A statement that still runs must not give its answer to the pool's next user.
  return { open, query, close: () => giveBack(client, waiting > 0) }

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
    const connecting = pool.connect()
    try {
      const opened = await withTimeout(connecting, connectMs)
      opened.on('error', () => giveBack(opened, true))
      client = opened
    } catch (error) {
      // It may still connect.
      void connecting.then((late) => late.release(true)).catch(() => {})
      throw toStoreError(server, error)
    }
  }

  /** Runs one statement after those before it. Gives the connection up if it was lost or is too slow. */
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
      if (!isAboutStatement(error)) giveBack(used, true)
      throw error
    }
  }

  /** Gives a connection back to the pool, which closes it if it is broken. */
  function giveBack(used: pg.PoolClient | undefined, isBroken: boolean): void {
    if (!used || used !== client) return
    client = undefined
    used.release(isBroken)
  }

  /** Resolves as the call does. Rejects after a time. */
  async function withTimeout<T>(call: Promise<T>, timeoutMs: number): Promise<T> {
    let stopTimer = (): void => {}
    const late = new Promise<never>((_, reject) => {
      stopTimer = systemClock.after(timeoutMs, () =>
        reject(new Error(`timeout exceeded: no answer within ${timeoutMs} ms`)),
      )
    })
    return await Promise.race([call, late]).finally(() => stopTimer())
  }
}

/** Whether the server refused the statement, and keeps the connection. */
function isAboutStatement(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR'
}
