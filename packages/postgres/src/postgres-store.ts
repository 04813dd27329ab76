import { randomUUID } from 'node:crypto'
import { type Beat, type BeatRequest, type QueuedValue, type Store, type StoredValue, StoreError } from '@reply/bridge'
import pg from 'pg'
import { decodedBeat, type EncodedBeat, encodedLeave, encodedRequest } from './beat.ts'
import { addressOf, type Connection, connectMs, createConnection, sizeOf } from './connection.ts'
import { afterPrefix, isKey, keyBytes, keyText, packed, unpacked } from './encoding.ts'
import { closedError, isRefusedByServer, toStoreError } from './errors.ts'
import { createHintListener, type HintListenerOptions } from './hints.ts'
import { createLane, inRanges, type KeyRange, type RangeStatement } from './lane.ts'
import { channelOf, migrate, versionOf } from './schema.ts'

/** Where a state is in PostgreSQL. */
export interface PostgresStoreOptions {
  /**
   * The URL of the database, for example `postgres://reply:secret@db.example:5432/reply`. Its parameters are those of `pg`,
   * for example `sslmode=verify-full`. Set either `url` or `pool`.
   */
  readonly url?: string | undefined
  /**
   * A pool of `pg` in place of a URL, with a `connectionTimeoutMillis`. The store uses two of its connections until it is closed,
   * and does not end the pool. `watch` opens a connection of its own with the same settings.
   */
  readonly pool?: pg.Pool | undefined
  /**
   * The URL over which `watch` listens, if `url` leads to a pooler that does not keep sessions, for example PgBouncer in transaction
   * mode. Default: that of the database.
   */
  readonly listenUrl?: string | undefined
  /** The schema of the tables. It is created if it is missing. Default: `reply`. */
  readonly schema?: string | undefined
  /** Called once if hints of other stores can't arrive, with a sentence that says so and how to fix it. */
  readonly onNotice?: ((notice: string) => void) | undefined
}

/** The schema of the tables, unless the options name another one. */
const defaultSchema = 'reply'
/**
 * How long the server may take to answer a beat, at the first try and at the second one, in ms. A bridge's leases last 4 s, and it
 * beats each second.
 */
const firstBeatMs = 1000
const secondBeatMs = 2000
/** How many expired values are deleted in one statement. Other calls wait for it. */
const sweepCount = 1000

/**
 * Opens a state in PostgreSQL 13 or newer, and creates or migrates its tables. Rejects with a `StoreError`: `newer` for a state
 * that a newer version wrote, `busy` if the server can't be reached now, `failed` if it can't be used.
 *
 * Several processes on several machines can open the same state. Its clock is that of the server. A call rejects with `busy` if
 * the server can't be reached, and then nothing was written. A commit whose answer was lost stays pending until the server tells
 * whether it was made. If the store is closed before that, it rejects with `closed`, and may have been made.
 */
export async function postgresStore(options: PostgresStoreOptions): Promise<Store> {
  await onServer(options, async ({ connection, schema }) => await migrate(connection, schema))
  return openStore(options)
}

/** Like `postgresStore`, but creates and migrates nothing, also not an earlier version. Undefined if there is no state. */
export async function existingPostgresStore(options: PostgresStoreOptions): Promise<Store | undefined> {
  const version = await onServer(options, async ({ connection, schema }) => await versionOf(connection, schema))
  return version && openStore(options)
}

/**
 * Runs a call on a connection to the server of the options, and gives the connection back. Rejects with a `StoreError`.
 */
export async function onServer<Result>(
  options: PostgresStoreOptions,
  call: (database: OpenDatabase) => Promise<Result>,
): Promise<Result> {
  const schema = quoted(options.schema ?? defaultSchema)
  const { pool, endPool } = poolOf(options)
  const server = addressOf(pool.options)
  const connection = createConnection(pool, server)
  try {
    await connection.open()
    return await call({ connection, pool, schema, server })
  } catch (error) {
    throw toStoreError(server, error)
  } finally {
    connection.close()
    await endPool()
  }
}

/** What `onServer` passes to a call. */
export interface OpenDatabase {
  readonly connection: Connection
  readonly pool: pg.Pool
  /** The quoted schema of the options. */
  readonly schema: string
  /** The address for error messages. */
  readonly server: string
}

/** Opens a state, whose tables must exist. */
function openStore(options: PostgresStoreOptions): Store {
  const { pool, endPool } = poolOf(options)
  const schema = quoted(options.schema ?? defaultSchema)
  const server = addressOf(pool.options)
  const working = createConnection(pool, server)
  const lane = createLane(working, schema, server, randomUUID())
  // A renewal must not wait for commits.
  const leasing = createConnection(pool, server)
  const timeNow = `(SELECT ${schema}.store_time())`
  const left = `(extract(epoch FROM expires_at - ${timeNow}) * 1000)::float8 AS expires_in_ms`
  const values: RangeStatement<StoredValue> = {
    sql: inRanges(
      `SELECT key, value, ${left} FROM ${schema}.stored WHERE key >= low AND key < high AND (expires_at IS NULL OR expires_at > ${timeNow})`,
      'key',
    ),
    toRow: ({ key, value, expires_in_ms: expiresInMs }) =>
      isKey(key) ? { key: keyText(key), value: unpacked(value), expiresInMs: expiresInMs ?? undefined } : undefined,
  }
  const queued = `FROM ${schema}.queued WHERE queue >= low AND queue < high`
  const entries: RangeStatement<QueuedValue> = {
    sql: inRanges(`SELECT id, value, position ${queued}`, 'position'),
    toRow: ({ id, value }) => (isKey(id) ? { id: keyText(id), value: unpacked(value) } : undefined),
  }
  const queueNames: RangeStatement<{ readonly name: string }> = {
    sql: inRanges(`SELECT DISTINCT queue ${queued}`, 'queue'),
    toRow: ({ queue }) => (isKey(queue) ? { name: keyText(queue) } : undefined),
  }
  const hints = createHintListener({ ...listeningOf(options, pool, lane.run), channel: channelOf(schema) })
  let isClosed = false
  return {
    read: async (key) => (await lane.read(values, onlyKey(key)))[0]?.value,
    list: async (prefix) => await lane.read(values, keysOf(prefix)),
    queue: async (name) => await lane.read(entries, onlyKey(name)),
    queues: async (prefix) => (await lane.read(queueNames, keysOf(prefix))).map(({ name }) => name),
    // The server may crash while the process goes on, so each commit survives that, whatever `survives` is.
    commit: async (writes, lease, { hint, withinMs } = {}) => await lane.commit({ writes, lease, hint, withinMs }),
    beat: async (request) => {
      if (isClosed) throw closedError()
      try {
        return await beatWithin(firstBeatMs, request).catch((error: unknown) => {
          if (error instanceof StoreError || isRefusedByServer(error)) throw error
          // The connection was lost, perhaps without a sign. A new one may be fine.
          return beatWithin(secondBeatMs, request)
        })
      } catch (error) {
        throw isClosed ? closedError() : toStoreError(server, error)
      }
    },
    release: async ({ name, holder, fence }) => {
      await lane.run(`SELECT ${schema}.release_lease($1, $2, $3)`, [keyBytes(name), packed(holder), fence])
    },
    leave: async (member, used) => void (await lane.run(`SELECT ${schema}.leave($1, $2)`, encodedLeave(member, used))),
    watch: (onHint) => {
      if (isClosed) throw closedError()
      return hints.watch(onHint)
    },
    sweep: async () => {
      // The order and the array make PostgreSQL use both indexes, although it can't know how few values have expired.
      const old = `SELECT key FROM ${schema}.stored WHERE expires_at <= ${timeNow} ORDER BY expires_at LIMIT ${sweepCount} FOR UPDATE SKIP LOCKED`
      const sql = `WITH gone AS (DELETE FROM ${schema}.stored WHERE key = ANY (ARRAY(${old})) RETURNING 1) SELECT count(*)::int AS count FROM gone`
      let total = 0
      for (let count = sweepCount; count === sweepCount; total += count) {
        const [row] = await lane.run<{ count: number }>(sql, [])
        count = row?.count ?? 0
      }
      await lane.run(`DELETE FROM ${schema}.writers WHERE written_at < ${timeNow} - interval '30 days'`, [])
      return total
    },
    close: async () => {
      if (isClosed) return
      isClosed = true
      hints.close()
      await lane.close()
      leasing.close()
      await endPool()
    },
  }

  /** Tries a beat once. Rejects with errors of `pg`. */
  async function beatWithin(timeoutMs: number, request: BeatRequest): Promise<Beat> {
    const sql = `SELECT ${schema}.beat($1, $2, $3, $4, $5, $6, $7) AS beat`
    await leasing.open()
    const [row] = await leasing.query<{ beat: EncodedBeat }>(sql, encodedRequest(request), timeoutMs)
    if (!row) throw new StoreError('failed', `PostgreSQL at ${server} did not answer a beat.`)
    return decodedBeat(row.beat, request)
  }
}

/** Comes after all keys: no byte of one is 0xff. */
const afterAll = Buffer.of(0xff)

/** Returns the range of the keys with a prefix. */
function keysOf(prefix: string): KeyRange {
  return { low: keyBytes(prefix), high: afterPrefix(prefix) ?? afterAll }
}

/** Returns the range of one key. */
function onlyKey(key: string): KeyRange {
  return { low: keyBytes(key), high: Buffer.concat([keyBytes(key), Buffer.of(0)]) }
}

/**
 * Returns the pool of the options, or a new one, which `endPool` ends. Throws a `StoreError` unless one of both is set, if a URL
 * can't be read, or if the pool is too small or waits for connections without a limit.
 */
function poolOf({ url, pool }: PostgresStoreOptions): {
  readonly pool: pg.Pool
  readonly endPool: () => Promise<void>
} {
  if (pool) {
    if (url !== undefined) throw new StoreError('failed', 'Set either the `url` of the database or a `pool`, not both.')
    if (sizeOf(pool) < 2)
      throw new StoreError('failed', 'The pool may have one connection, and a store needs two. Raise its `max`.')
    // Connections that hang would take all its places, and `pg` can't give them up otherwise.
    if (!pool.options.connectionTimeoutMillis)
      throw new StoreError(
        'failed',
        'The pool waits for a connection without a limit. Set its `connectionTimeoutMillis`, for example to 2000.',
      )
    return { pool, endPool: async () => {} }
  }
  if (url === undefined) throw new StoreError('failed', 'Set the `url` of the database, or a `pool`.')
  const own = new pg.Pool({ ...connectionTo(url), max: 2, connectionTimeoutMillis: connectMs })
  // For example if the server stops. The next call reports it.
  own.on('error', () => {})
  return { pool: own, endPool: async () => await own.end() }
}

/**
 * The URLs that are accepted. `pg` reads any other text as the name of a database, and would name a password in errors. One with
 * a "/", "?" or "#" would begin the next part of the URL, and leave its "@" there.
 */
const urlForm = /^(postgres(ql)?:\/\/[^/?#]*([/?][^@#]*)?|socket:[^@#]*)$/

/** Returns the error of a URL that can't be read. It does not quote the URL, which may contain a password. */
function urlError(): StoreError {
  return new StoreError(
    'failed',
    "The URL of the database can't be read. Write it as postgres://user:password@host:port/database, with the signs / ? # @ : % in the password as %2F %3F %23 %40 %3A %25.",
  )
}

/** Returns how `watch` listens. `run` runs a statement on another connection. Throws a `StoreError` if a URL can't be read. */
export function listeningOf(
  { listenUrl, onNotice }: PostgresStoreOptions,
  pool: pg.Pool,
  run: (sql: string, values: readonly unknown[]) => Promise<unknown>,
): Pick<HintListenerOptions, 'connection' | 'notify' | 'onNotice'> {
  return {
    connection: listenUrl === undefined ? pool.options : connectionTo(listenUrl),
    notify: async (channel) => void (await run("SELECT pg_notify($1, '')", [channel])),
    onNotice,
  }
}

/** Returns the settings of a connection to a URL. Throws a `StoreError` if it can't be read. */
function connectionTo(url: string): pg.ClientConfig {
  if (!urlForm.test(url)) throw urlError()
  const connection = { connectionString: url, application_name: 'reply bridge', keepAlive: true }
  try {
    // It reads the URL.
    addressOf(connection)
    return connection
  } catch (error) {
    const { code, path } = error instanceof Error && 'code' in error && 'path' in error ? error : {}
    if (code === undefined) throw urlError()
    throw new StoreError('failed', `The URL of the database names the file ${path}, which can't be read: ${code}.`)
  }
}

/** Quotes the name of a schema for SQL. Throws a `StoreError` if PostgreSQL would cut it off, or keeps it for itself. */
function quoted(name: string): string {
  const size = Buffer.byteLength(name)
  if (size === 0 || size > 63 || name.includes('\0'))
    throw new StoreError(
      'failed',
      `The name of the schema has ${size} bytes in UTF-8. Give it 1 to 63, without U+0000.`,
    )
  if (name.startsWith('pg_'))
    throw new StoreError(
      'failed',
      'PostgreSQL keeps names of schemas that begin with pg_ for itself. Name another one.',
    )
  return `"${name.replaceAll('"', '""')}"`
}
