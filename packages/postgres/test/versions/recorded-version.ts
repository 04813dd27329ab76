import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { QueuedValue, StoredValue } from '@reply/bridge'
import pg from 'pg'
import { createConnection } from '../../src/connection.ts'
import { postgresStore } from '../../src/index.ts'
import { migrate, migrations } from '../../src/schema.ts'
import { connected } from '../stage.ts'
import { playCalls } from './play-calls.ts'

/** What a bridge of a version sent to PostgreSQL, and what it got. */
export interface RecordedVersion {
  /** The statements of the version, for the schema `"reply"`. */
  readonly sql: string
  readonly calls: readonly RecordedCall[]
  /** What the state had after the last call. */
  readonly contents: Contents
}

/** A statement with its values and rows, or how the clock of the server goes on. Bytes are `{ hex }`. */
type RecordedCall =
  | { readonly sql: string; readonly values: readonly unknown[]; readonly rows: unknown }
  | { readonly passMs: number }

interface Contents {
  readonly values: readonly StoredValue[]
  readonly queues: readonly { readonly queue: string; readonly values: readonly QueuedValue[] }[]
}

const schema = '"reply"'
const beginning = "timestamptz '2026-01-01 12:00:00Z'"

const fileOf = (version: number, ending: string): URL => new URL(`version-${version}.${ending}`, import.meta.url)

/** Whether a version of the tables was recorded. */
export const isRecorded = (version: number): boolean => existsSync(fileOf(version, 'sql'))

/** Reads the recording of a version. */
export function recordedVersion(version: number): RecordedVersion {
  const { calls, contents } = JSON.parse(readFileSync(fileOf(version, 'json'), 'utf8'))
  return { sql: readFileSync(fileOf(version, 'sql'), 'utf8'), calls, contents }
}

/** Writes the newest version with what this bridge sends, in an empty database. Returns how many calls it has. */
export async function recordNewest(url: string): Promise<number> {
  const version = migrations.length
  const sql = migrations.at(-1)?.sql(schema) ?? ''
  const calls: RecordedCall[] = []
  let isRecording = false
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 2000 })
  pool.on('connect', (client) => {
    const query = client.query.bind(client)
    Object.assign(client, {
      query: async (text: string, values: unknown[] = []) => {
        const result = await query(text, values)
        if (isRecording) calls.push({ sql: text, values: values.map(encoded), rows: encoded(result.rows) })
        return result
      },
    })
  })
  const store = await postgresStore({ pool })
  await stopClock(url)
  isRecording = true
  await playCalls(store, async (passMs) => {
    calls.push({ passMs })
    await passOn(url, passMs)
  })
  // An answer that is lost makes a bridge send the same batch again.
  const last = calls.findLast((call) => 'sql' in call && call.sql.includes('commit_batch'))
  if (last) calls.push(last)
  isRecording = false
  await store.close()
  await pool.end()
  writeFileSync(fileOf(version, 'sql'), sql)
  const recorded = { calls, contents: await contentsOf(url) }
  writeFileSync(fileOf(version, 'json'), `${JSON.stringify(recorded, undefined, 1)}\n`)
  return calls.length
}

/**
 * Plays what a bridge of a recorded version sent, in an empty database. The state is created by that version. Before the call at
 * `migrateAt`, a bridge that knows `steps` migrates it, while the older one goes on. Resolves with what differs from the recording,
 * in words. Empty if the older one would not notice, and this version finds what it wrote.
 */
export async function replayVersion(
  url: string,
  version: number,
  migrateAt: number,
  steps: typeof migrations,
): Promise<readonly string[]> {
  const { sql, calls, contents } = recordedVersion(version)
  const older = await connected(url)
  try {
    const first = Array.from({ length: version - 1 }, (_, index) => recordedVersion(index + 1).sql)
    await older.query(
      `CREATE SCHEMA reply; CREATE TABLE reply.state_version (version int NOT NULL, min_reader int NOT NULL)`,
    )
    for (const one of [...first, sql]) await older.query(one)
    const { minReader = 1 } = migrations[version - 1] ?? {}
    await older.query('INSERT INTO reply.state_version VALUES ($1, $2)', [version, minReader])
    await stopClock(url)
    const faults: string[] = []
    for (const [index, call] of calls.entries()) {
      if (index === migrateAt) await migrateTo(url, steps)
      if ('passMs' in call) await passOn(url, call.passMs)
      else faults.push(...(await differenceIn(older, call, index)))
    }
    if (migrateAt >= calls.length) await migrateTo(url, steps)
    const found = await contentsOf(url).catch((error: unknown) => error)
    if (!isDeepStrictEqual(found, contents)) faults.push(`this version does not find what it wrote, but ${found}`)
    return faults
  } finally {
    await older.end()
  }
}

/** Lists the columns and functions of the state, with their types. */
export async function namesIn(url: string): Promise<readonly string[]> {
  const client = await connected(url)
  const sql = `SELECT relname || '.' || attname || ' ' || atttypid::regtype AS name
      FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
      WHERE relnamespace = 'reply'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT oid::regprocedure || ' ' || prorettype::regtype FROM pg_proc WHERE pronamespace = 'reply'::regnamespace`
  try {
    return (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/** Migrates as a bridge that knows these versions. */
export async function migrateTo(url: string, steps: typeof migrations): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  const connection = createConnection(pool, 'here')
  try {
    await connection.open()
    await migrate(connection, schema, steps)
  } finally {
    connection.close()
    await pool.end()
  }
}

/** Sends a recorded statement again. Returns how its rows or its error differ from what was recorded. */
async function differenceIn(
  client: pg.Client,
  { sql, values, rows }: Extract<RecordedCall, { readonly sql: string }>,
  index: number,
): Promise<readonly string[]> {
  const call = `call ${index}, ${sql}`
  try {
    const found = encoded((await client.query(sql, values.map(decoded))).rows)
    return isDeepStrictEqual(found, rows) ? [] : [`${call}: ${JSON.stringify(found)} and not ${JSON.stringify(rows)}`]
  } catch (error) {
    return [`${call}: ${error instanceof Error ? error.message : error}`]
  }
}

/** Makes the time of the state one that only `passOn` changes. */
async function stopClock(url: string): Promise<void> {
  const client = await connected(url)
  await client.query(`CREATE TABLE reply.hand_clock AS SELECT ${beginning} AS at`)
  const body = '$$ SELECT at FROM reply.hand_clock $$'
  await client.query(
    `CREATE OR REPLACE FUNCTION reply.store_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS ${body}`,
  )
  await client.end()
}

async function passOn(url: string, ms: number): Promise<void> {
  const client = await connected(url)
  await client.query("UPDATE reply.hand_clock SET at = at + $1 * interval '1 ms'", [ms])
  await client.end()
}

/** What this version finds in the state. */
async function contentsOf(url: string): Promise<Contents> {
  const store = await postgresStore({ url })
  try {
    const names = [...(await store.queues(''))].toSorted()
    const queues = await Promise.all(names.map(async (queue) => ({ queue, values: await store.queue(queue) })))
    // As it is in a file.
    return JSON.parse(JSON.stringify({ values: await store.list(''), queues }))
  } finally {
    await store.close()
  }
}

/** A value or rows as JSON, with bytes as `{ hex }`. */
function encoded(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, one) =>
      one?.type === 'Buffer' ? { hex: Buffer.from(one.data).toString('hex') } : one,
    ) ?? 'null',
  )
}

function decoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decoded)
  const isBytes = typeof value === 'object' && value !== null && 'hex' in value
  return isBytes ? Buffer.from(String(value.hex), 'hex') : value
}
