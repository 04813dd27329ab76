import { StoreError } from '@reply/bridge'
import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { checkPostgres } from '../src/check.ts'
import { createConnection } from '../src/connection.ts'
import { postgresStore } from '../src/index.ts'
import { existingPostgresStore } from '../src/postgres-store.ts'
import { migrate, migrations, versionOf } from '../src/schema.ts'
import { beatForLease, connected } from './stage.ts'

/** Versions that do not exist yet. */
const second = {
  sql: (schema: string) =>
    `ALTER TABLE ${schema}.stored ADD COLUMN note text; CREATE FUNCTION ${schema}.noted() RETURNS int LANGUAGE sql AS 'SELECT 2'`,
  minReader: 1,
}
const third = { sql: (schema: string) => `CREATE TABLE ${schema}.third (id int)`, minReader: 3 }
const upToSecond = [...migrations, second]
const upToThird = [...upToSecond, third]

describe.skipIf(!hasPostgres())(`migrations (${needsPostgres})`, () => {
  let url = ''
  let pool: pg.Pool
  let admin: pg.Client
  beforeAll(async () => {
    url = await (await sharedPostgres()).createDatabase()
    pool = new pg.Pool({ connectionString: url })
    admin = await connected(url)
  })
  afterEach(async () => void (await admin.query('DROP SCHEMA IF EXISTS reply CASCADE')))
  afterAll(async () => {
    await pool.end()
    await admin.end()
  })

  /** Migrates as a bridge that knows these versions. */
  async function migrateTo(steps: typeof migrations): Promise<void> {
    const connection = createConnection(pool, 'here')
    await connection.open()
    try {
      await migrate(connection, '"reply"', steps)
    } finally {
      connection.close()
    }
  }
  const versionRows = async () => (await admin.query('SELECT * FROM reply.state_version')).rows
  /** Lists everything in the schema. */
  const contents = async () => {
    const sql = `SELECT relname AS name FROM pg_class WHERE relnamespace = 'reply'::regnamespace
      UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'reply'::regnamespace ORDER BY 1`
    return (await admin.query<{ name: string }>(sql)).rows.map(({ name }) => name)
  }

  test('are made once by many bridges that start at the same time, from nothing and from a version before', async () => {
    await Promise.all(Array.from({ length: 4 }, () => migrateTo(migrations)))
    expect(await versionRows()).toEqual([{ version: 1, min_reader: 1 }])
    await Promise.all(
      [migrateTo(upToSecond), migrateTo(upToThird), migrateTo(upToSecond), migrateTo(upToThird)].map((one) =>
        one.catch((error: unknown) => expect(error).toMatchObject({ type: 'newer' })),
      ),
    )
    expect(await versionRows()).toEqual([{ version: 3, min_reader: 3 }])
    expect(await contents()).toEqual(expect.arrayContaining(['noted', 'third']))
  })

  test('leave a bridge of the version before at work, and let it start again', async () => {
    const store = await postgresStore({ url })
    await store.commit([{ type: 'put', key: 'key', value: 'one' }])
    await migrateTo(upToSecond)
    expect(await store.commit([{ type: 'put', key: 'key', value: 'two' }])).toEqual({ type: 'done' })
    await store.close()
    for (const open of [postgresStore, existingPostgresStore]) {
      const again = await open({ url })
      expect(await again?.read('key')).toBe('two')
      expect(again && (await beatForLease(again, 'one'))).toBeDefined()
      await again?.close()
    }
    expect(await versionRows()).toEqual([{ version: 2, min_reader: 1 }])
    expect((await checkPostgres({ url }))[0]).toMatch(/, with the state of a bridge, version 2$/)
  })

  test('end the use of a state by versions that do not know it, which change nothing', async () => {
    await migrateTo(upToThird)
    const before = await contents()
    const newer = {
      type: 'newer',
      message:
        'The state in the schema "reply" has version 3, and this bridge knows up to 1. Install the newer bridge again, or name another schema.',
    }
    await expect(postgresStore({ url })).rejects.toMatchObject(newer)
    await expect(existingPostgresStore({ url })).rejects.toMatchObject(newer)
    await expect(checkPostgres({ url })).rejects.toMatchObject(newer)
    await expect(migrateTo(upToSecond)).rejects.toMatchObject({ type: 'newer' })
    expect(await contents()).toEqual(before)
    expect(await versionRows()).toEqual([{ version: 3, min_reader: 3 }])
  })

  test('that fail, or whose bridge is killed, leave the version before whole', async () => {
    await migrateTo(migrations)
    const before = await contents()
    const wrong = { sql: (schema: string) => `CREATE TABLE ${schema}.half (id int); SELECT 1 / 0`, minReader: 2 }
    await expect(migrateTo([...upToSecond, wrong])).rejects.toThrow('division by zero')
    expect(await contents()).toEqual(before)

    const hanging = {
      sql: (schema: string) => `CREATE TABLE ${schema}.half (id int); SELECT pg_sleep(60)`,
      minReader: 2,
    }
    const killed = migrateTo([...upToSecond, hanging]).catch((error: unknown) => error)
    const sleeping =
      "SELECT pg_terminate_backend(pid) AS is_killed FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
    await expect.poll(async () => (await admin.query(sleeping)).rows).toEqual([{ is_killed: true }])
    expect(await killed).toBeInstanceOf(Error)
    expect(await contents()).toEqual(before)
    expect(await versionRows()).toEqual([{ version: 1, min_reader: 1 }])
    await migrateTo(upToSecond)
  })

  test('that wait for another program, for example a backup, give up before a bridge would wait behind them', async () => {
    const store = await postgresStore({ url })
    await admin.query('BEGIN')
    await admin.query('SELECT * FROM reply.stored')
    const migrating = expect(migrateTo(upToSecond)).rejects.toMatchObject({ code: '55P03' })
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1)
    expect(await store.commit([{ type: 'put', key: 'key', value: '' }])).toEqual({ type: 'done' })
    await migrating
    await admin.query('ROLLBACK')
    await migrateTo(upToSecond)
    expect(await store.list('')).toHaveLength(1)
    await store.close()
  })

  test('an existing state is opened as it is, and none is made', async () => {
    expect(await existingPostgresStore({ url })).toBeUndefined()
    await admin.query('CREATE SCHEMA reply')
    expect(await existingPostgresStore({ url })).toBeUndefined()
    expect(await contents()).toEqual([])
    await (await postgresStore({ url })).close()
    const connection = createConnection(pool, 'here')
    await connection.open()
    expect(await versionOf(connection, '"reply"', upToSecond)).toEqual({ version: 1, min_reader: 1 })
    connection.close()
    await expect(connection.open()).rejects.toBeInstanceOf(StoreError)
    const store = await existingPostgresStore({ url })
    expect(await store?.list('')).toEqual([])
    await store?.close()
  })
})
