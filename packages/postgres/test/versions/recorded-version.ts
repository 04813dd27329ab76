import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { QueuedValue, StoredValue } from '@reply/bridge'
import pg from 'pg'
import { createConnection } from '../../src/connection.ts'
import { postgresStore } from '../../src/index.ts'
import { migrate, migrations } from '../../src/schema.ts'
import { connected } from '../stage.ts'
import { playCalls } from './play-calls.ts'

/** What a bridge sent to PostgreSQL, and what it got. */
export interface Recording {
  /** The version of the tables. */
  readonly version: number
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

const fileOf = (name: string): URL => new URL(name, import.meta.url)

/** Returns the statements of a version of the tables as they were recorded, for the schema `"reply"`. Undefined if they were not. */
export function recordedSql(version: number): string | undefined {
  const file = fileOf(`version-${version}.sql`)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** Returns all recordings of what bridges send, oldest first. */
export function recordings(): readonly Recording[] {
  const found: Recording[] = []
  for (let file = fileOf('calls-1.jsonl'); existsSync(file); file = fileOf(`calls-${found.length + 1}.jsonl`)) {
    const [head, ...calls] = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    found.push({ ...head, calls })
  }
  return found
}

/** Plays all that this bridge sends in an empty database. */
export async function recordCalls(url: string): Promise<Recording> {
  const calls: RecordedCall[] = []
  let isRecording = false
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 2000 })
  pool.on('connect', (client) => {
    const query = client.query.bind(client)
    Object.assign(client, {
      query: async (text: string, values: unknown[] = []) => {
        const result = await query(text, values)
        if (isRecording) calls.push({ sql: text, values: values.map(repeatable), rows: encoded(result.rows) })
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
  return { version: migrations.length, calls, contents: await contentsOf(url) }
}

/** Adds a recording of what this bridge sends, and that of the newest version of the tables if there is none. Returns its name. */
export async function addRecording(url: string): Promise<string> {
  const name = `calls-${recordings().length + 1}.jsonl`
  const { calls, ...head } = await recordCalls(url)
  writeFileSync(fileOf(name), [head, ...calls].map((line) => `${JSON.stringify(line)}\n`).join(''))
  const version = migrations.length
  if (recordedSql(version) === undefined)
    writeFileSync(fileOf(`version-${version}.sql`), migrations.at(-1)?.sql(schema) ?? '')
  return name
}

/**
 * Plays what a recorded bridge sent, in an empty database. The state is created by its version of the tables. Before the call at
 * `migrateAt`, a bridge that knows `steps` migrates it, while the older one goes on. Resolves with what differs from the recording,
 * in words. Empty if the older one would not notice, and this version finds what it wrote.
 */
export async function replay(
  url: string,
  { version, calls, contents }: Recording,
  migrateAt: number,
  steps: typeof migrations,
): Promise<readonly string[]> {
  const older = await connected(url)
  try {
    await older.query(
      `CREATE SCHEMA reply; CREATE TABLE reply.state_version (version int NOT NULL, min_reader int NOT NULL)`,
    )
    for (let each = 1; each <= version; each++) await older.query(recordedSql(each) ?? '')
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

/** A value as `encoded`, with the same id of the store and the same rounded times in each recording. */
function repeatable(value: unknown): unknown {
  if (typeof value !== 'string') return encoded(value)
  return value
    .replace(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, '00000000-0000-4000-8000-000000000001')
    .replace(/(?<="until":)\d+(?:\.\d+)?/, (ms) => String(1000 * Math.round(Number(ms) / 1000)))
}

function decoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decoded)
  const isBytes = typeof value === 'object' && value !== null && 'hex' in value
  return isBytes ? Buffer.from(String(value.hex), 'hex') : value
}
