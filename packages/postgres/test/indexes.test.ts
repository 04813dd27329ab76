import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { postgresStore } from '../src/index.ts'
import { beatForLease } from './stage.ts'

/** More rows than PostgreSQL reads one by one if it may choose. Those of every third key have expired. */
const rows = 30_000
const expired = rows / 3
const key = "convert_to('key/' || n, 'UTF8')"
const value = 'repeat(md5(n::text), 10)'
const numbers = `generate_series(1, ${rows}) AS n`

describe.skipIf(!hasPostgres())(`the tables (${needsPostgres})`, () => {
  test.each([
    ['before PostgreSQL knows how large they are', false],
    ['once PostgreSQL knows how large they are', true],
  ])('are read by their indexes alone %s', async (_, isAnalyzed) => {
    const url = await (await sharedPostgres()).createDatabase()
    await (await postgresStore({ url })).close()
    const client = new pg.Client(url)
    await client.connect()
    const expiry = "clock_timestamp() + CASE WHEN n % 3 = 0 THEN -1 ELSE 1 END * n * interval '1 hour'"
    await client.query(`INSERT INTO reply.stored SELECT ${key}, ${value}, ${expiry} FROM ${numbers}`)
    await client.query(`INSERT INTO reply.queued (queue, id, value) SELECT ${key}, 'id', ${value} FROM ${numbers}`)
    if (isAnalyzed) await client.query('ANALYZE')

    const store = await postgresStore({ url })
    expect(await store.read('key/1')).toHaveLength(320)
    expect(await store.list('key/2999')).toHaveLength(8)
    expect(await store.queue('key/7')).toHaveLength(1)
    expect(await store.queues('key/2999')).toHaveLength(11)
    // Sent together, so PostgreSQL reads many ranges at once.
    const numbered = Array.from({ length: 100 }, (_, n) => `key/${100 * n + 1}`)
    const read = await Promise.all(numbered.map(async (one) => (await store.read(one)) !== undefined))
    expect(read.filter((isThere) => isThere)).toHaveLength(67)
    const entries = await Promise.all(numbered.map(async (one) => (await store.queue(one)).length))
    expect(entries).toEqual(numbered.map(() => 1))
    const writes = [
      { type: 'put', key: 'key/1', value: '1' },
      { type: 'put-if-absent', key: 'key/3', value: '3' },
      { type: 'compare-and-set', key: 'key/1', expected: '1', value: '2' },
      { type: 'compare-and-set', key: 'key/1', expected: '2', value: undefined },
      { type: 'compare-and-set', key: 'key/1', expected: undefined, value: undefined },
      { type: 'remove', key: 'key/2' },
      { type: 'enqueue', queue: 'key/1', id: 'next', value: '1' },
      { type: 'replace', queue: 'key/1', id: 'next', value: '2' },
      { type: 'dequeue', queue: 'key/1', id: 'next' },
    ] as const
    // A function plans a statement anew five times, and then may keep a plan.
    for (let times = 0; times < 12; times++) {
      expect(await store.commit(writes.filter((write) => times === 0 || write.type !== 'put-if-absent'))).toEqual({
        type: 'done',
      })
    }
    // All but the one that was put again.
    expect(await store.sweep()).toBe(expired - 1)
    await store.close()

    // A connection tells what it did at its end.
    await vi.waitFor(
      async () => {
        const found = await client.query(
          `SELECT relname, n_tup_del > 0 AS is_told, seq_tup_read::int AS read_one_by_one
              FROM pg_stat_user_tables WHERE relname IN ('stored', 'queued') ORDER BY relname`,
        )
        expect(found.rows).toEqual([
          { relname: 'queued', is_told: true, read_one_by_one: 0 },
          { relname: 'stored', is_told: true, read_one_by_one: 0 },
        ])
      },
      { timeout: 20_000 },
    )
    await client.end()
  })

  test('keep the rows that each commit and renewal changes where they are', async () => {
    const url = await (await sharedPostgres()).createDatabase()
    const store = await postgresStore({ url })
    const changes = 500
    for (let times = 0; times <= changes; times++) {
      const lease = await beatForLease(store, 'it')
      expect(await store.commit([], lease)).toEqual({ type: 'done' })
    }
    await store.close()

    const client = new pg.Client(url)
    await client.connect()
    // PostgreSQL then reuses their page at once, and their index does not grow until the next vacuum.
    await vi.waitFor(
      async () => {
        const found = await client.query(
          `SELECT relname, n_tup_upd >= ${changes} AS is_told, (n_tup_upd - n_tup_hot_upd)::int AS moved
            FROM pg_stat_user_tables WHERE relname IN ('leased', 'members', 'writers') ORDER BY relname`,
        )
        expect(found.rows).toEqual([
          { relname: 'leased', is_told: true, moved: 0 },
          { relname: 'members', is_told: true, moved: 0 },
          { relname: 'writers', is_told: true, moved: 0 },
        ])
      },
      { timeout: 20_000 },
    )
    await client.end()
  })
})
