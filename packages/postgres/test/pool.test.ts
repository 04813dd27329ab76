import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { postgresStore } from '../src/index.ts'
import { beatForLease } from './stage.ts'

describe.skipIf(!hasPostgres())(`a pool (${needsPostgres})`, () => {
  let url = ''
  let schemas = 0
  let schema = ''
  beforeAll(async () => {
    url = await (await sharedPostgres()).createDatabase()
  })
  beforeEach(() => {
    schema = `pool${schemas++}`
  })

  /** Creates a pool, which ends after the test. */
  function createPool(max: number): pg.Pool {
    const pool = new pg.Pool({ connectionString: url, max, connectionTimeoutMillis: 2000 })
    onTestFinished(async () => {
      if (!pool.ended) await pool.end()
    })
    return pool
  }

  test('of one connection is refused, because a store needs two', async () => {
    await expect(postgresStore({ pool: createPool(1), schema })).rejects.toMatchObject({
      type: 'failed',
      message: 'The pool may have one connection, and a store needs two. Raise its `max`.',
    })
  })

  test('that waits for a connection without a limit is refused, because those that hang would take all its places', async () => {
    const pool = new pg.Pool({ connectionString: url })
    await expect(postgresStore({ pool, schema })).rejects.toMatchObject({
      type: 'failed',
      message:
        'The pool waits for a connection without a limit. Set its `connectionTimeoutMillis`, for example to 2000.',
    })
    await pool.end()
  })

  test('serves two stores if it has a connection for each, and keeps its connections when they are closed', async () => {
    const pool = createPool(4)
    const stores = [await postgresStore({ pool, schema }), await postgresStore({ pool, schema })]
    for (const store of stores) {
      expect(await store.commit([{ type: 'put', key: 'key', value: 'value' }])).toEqual({ type: 'done' })
      await beatForLease(store, 'one')
    }
    expect([pool.totalCount, pool.idleCount]).toEqual([4, 0])
    for (const store of stores) await store.close()
    expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([4, 4, 0])
    expect((await pool.query(`SELECT key FROM ${schema}.stored`)).rows).toHaveLength(1)
  })

  test('that is too small for two stores says so, and loses no connection', async () => {
    const pool = createPool(2)
    const store = await postgresStore({ pool, schema })
    await store.commit([])
    await beatForLease(store, 'one')
    const message = 'All 2 connections of the pool are in use. Raise its `max`: each store needs two.'
    await expect(postgresStore({ pool, schema })).rejects.toMatchObject({ type: 'busy', message })
    await store.close()
    await expect.poll(() => pool.waitingCount).toBe(0)
    const again = await postgresStore({ pool, schema })
    expect(await again.commit([])).toEqual({ type: 'done' })
    await again.close()
  })

  test('can be used by many stores, one after the other, without more and more listeners', async () => {
    const pool = createPool(2)
    for (let round = 0; round < 15; round++) {
      const store = await postgresStore({ pool, schema })
      await store.commit([])
      await beatForLease(store, 'one')
      await store.close()
    }
    const client = await pool.connect()
    const { length } = client.listeners('error')
    client.release()
    expect(length).toBe(0)
  })

  test('that its owner ends too early is named, and the store can still be closed', async () => {
    const pool = createPool(2)
    const store = await postgresStore({ pool, schema })
    await store.commit([])
    const ended = pool.end()
    const message = expect.stringMatching(/ can't be used, because the pool was ended\.$/)
    await expect(beatForLease(store, 'one')).rejects.toMatchObject({ type: 'failed', message })
    // This connection is in use until the store is closed.
    expect(await store.commit([])).toEqual({ type: 'done' })
    await store.close()
    await ended
    await expect(postgresStore({ pool, schema })).rejects.toMatchObject({ type: 'failed', message })
  })

  test('is not accepted beside a URL, but one of both is needed', async () => {
    await expect(postgresStore({ url, pool: createPool(2), schema })).rejects.toMatchObject({
      type: 'failed',
      message: 'Set either the `url` of the database or a `pool`, not both.',
    })
    await expect(postgresStore({})).rejects.toMatchObject({
      type: 'failed',
      message: 'Set the `url` of the database, or a `pool`.',
    })
  })
})
