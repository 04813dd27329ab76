import { type Store, StoreError, type Write } from '@reply/bridge'
import {
  hasPostgres,
  needsPostgres,
  type PostgresProxy,
  type PostgresServer,
  type PostgresStandby,
  startPostgres,
  startPostgresProxy,
  startStandby,
} from '@reply/testing/internal'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { postgresStore } from '../src/index.ts'
import { beatForLease, connected } from './stage.ts'

const put = (key: string, value: string): Write => ({ type: 'put', key, value })

/** Resolves with the result of a commit, or the type of its error. */
const outcomeOf = (commit: ReturnType<Store['commit']>): Promise<string> =>
  commit.then(
    ({ type }) => type,
    (error: unknown) => (error instanceof StoreError ? error.type : String(error)),
  )

/** Resolves with the types of the errors that calls reject with. */
async function rejections(calls: readonly Promise<unknown>[]): Promise<ReadonlySet<string>> {
  const types = calls.map((call) =>
    call.then(
      () => 'resolved',
      (error: unknown) => (error instanceof StoreError ? error.type : String(error)),
    ),
  )
  return new Set(await Promise.all(types))
}

describe.skipIf(!hasPostgres())(`a server that does not respond (${needsPostgres})`, () => {
  let server: PostgresServer
  let proxy: PostgresProxy
  let admin: pg.Client
  beforeAll(async () => {
    server = await startPostgres()
    admin = await connected(server.url)
  })
  beforeEach(async () => {
    proxy = await startPostgresProxy({ target: server.url })
  })
  afterEach(async () => {
    await proxy.close()
    await admin.query('DROP SCHEMA IF EXISTS reply CASCADE')
  })
  afterAll(async () => {
    await admin.end()
    await server.remove()
  })

  const open = async (url: string) => {
    const store = await postgresStore({ url })
    onTestFinished(() => store.close())
    return store
  }

  test('lets hundreds of calls reject within seconds, and none of them is made later', async () => {
    const store = await open(proxy.url)
    await store.commit([put('before', '')])
    await server.suspend()
    const first = outcomeOf(store.commit([put('sent', '')]))
    // The first one is on its way, and the others wait behind it.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    const waiting = await rejections(
      Array.from({ length: 300 }, (_, index) => (index % 3 ? store.commit([put(`${index}`, '')]) : store.read('key'))),
    )
    // The server still stands still.
    expect(waiting).toEqual(new Set(['busy']))
    const later = await rejections(Array.from({ length: 300 }, (_, index) => store.commit([put(`later${index}`, '')])))
    expect(later).toEqual(new Set(['busy']))
    server.resume()
    expect(await first).toBe('done')
    expect((await store.list('')).map(({ key }) => key)).toEqual(['before', 'sent'])
  })

  test('is gone for many calls, and the store is then as before', async () => {
    const store = await open(proxy.url)
    await store.commit([put('before', '')])
    const sent: Promise<string>[] = []
    for (const network of ['refuse', 'silent'] as const) {
      await proxy.cutOff(network)
      sent.push(outcomeOf(store.commit([put(network, '')])))
      for (let round = 0; round < 4; round++) {
        const lease = beatForLease(store, 'b', { name: 'a', forMs: 1 })
        const calls = [store.read('key'), store.commit([put('late', '')]), lease]
        expect(await rejections(calls)).toEqual(new Set(['busy']))
      }
    }
    await proxy.restore()
    // The first one was on its way. The second one waited behind it, and was surely not made.
    expect(await Promise.all(sent)).toEqual(['done', 'busy'])
    expect(await store.commit([put('after', '')])).toEqual({ type: 'done' })
    expect(await beatForLease(store, 'one')).toMatchObject({ fence: 1 })
    expect((await store.list('')).map(({ key }) => key)).toEqual(['after', 'before', 'refuse'])
  })

  test.each(['refuse', 'silent'] as const)(
    'lets a store close whose commit is unknown (network: %s)',
    async (network) => {
      const store = await open(proxy.url)
      await store.commit([put('before', '')])
      await beatForLease(store, 'one')
      await proxy.cutOff(network)
      const sent = outcomeOf(store.commit([put('sent', '')]))
      const leased = outcomeOf(beatForLease(store, 'one').then(() => ({ type: 'done' })))
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
      const waiting = outcomeOf(store.commit([put('waiting', '')]))
      await store.close()
      expect(await Promise.all([sent, leased, waiting])).toEqual(['closed', 'closed', 'closed'])
      proxy.breakConnections()
      await proxy.restore()
      const sql = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'reply bridge'"
      await expect.poll(async () => (await admin.query(sql)).rows).toEqual([])
    },
  )

  test('lets a store close while it connects', async () => {
    const store = await open(proxy.url)
    await proxy.cutOff('silent')
    const calls = [outcomeOf(store.commit([put('key', '')])), outcomeOf(store.commit([]))]
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    await store.close()
    expect(await Promise.all(calls)).toEqual(['busy', 'busy'])
    await proxy.restore()
  })

  test('lets a commit wait for a lock of another program, and rejects it as busy if that takes too long', async () => {
    const store = await open(server.url)
    await store.commit([put('key', 'before')])
    const holding = await connected(server.url)
    const lock = async () => {
      await holding.query('BEGIN')
      await holding.query('SELECT 1 FROM reply.stored FOR UPDATE')
    }
    await lock()
    const short = outcomeOf(store.commit([put('key', 'after')]))
    const untilRefused = 'SELECT deadlocks, xact_rollback FROM pg_stat_database WHERE datname = current_database()'
    const rollbacks = async () => Number((await admin.query(untilRefused)).rows[0]?.xact_rollback)
    const before = await rollbacks()
    await expect.poll(rollbacks).toBeGreaterThan(before)
    await holding.query('ROLLBACK')
    expect(await short).toBe('done')
    await lock()
    const commits = [put('key', 'never'), put('other', 'never'), put('third', 'never')].map((write) =>
      outcomeOf(store.commit([write])),
    )
    const next = outcomeOf(store.commit([put('next', '')]))
    expect(await Promise.all([...commits, next])).toEqual(['busy', 'busy', 'busy', 'busy'])
    await holding.query('ROLLBACK')
    expect(await store.list('')).toEqual([{ key: 'key', value: 'after' }])
    await holding.end()
  })
})

describe.skipIf(!hasPostgres())(`a synchronous standby (${needsPostgres})`, () => {
  let primary: PostgresServer
  let standby: PostgresStandby
  beforeAll(async () => {
    primary = await startPostgres()
    standby = await startStandby(primary, { synchronous: true })
  })
  afterAll(async () => {
    await standby.remove()
    await primary.remove()
  })

  test('that is down keeps commits and new leases waiting, but not renewals, and nothing acknowledged is lost in a failover', async () => {
    const one = await postgresStore({ url: primary.url })
    const other = await postgresStore({ url: primary.url })
    const lease = await beatForLease(one, 'one', { forMs: 60_000 })
    expect(await one.commit([put('key', 'before')], lease)).toEqual({ type: 'done' })
    await standby.stop()
    const waiting = one.commit([put('key', 'after'), { type: 'enqueue', queue: 'q', id: 'a', value: '' }], lease)
    expect(await beatForLease(one, 'one', { forMs: 60_000 })).toEqual(lease)
    expect(await rejections([beatForLease(other, 'other', { name: 'second' })])).toEqual(new Set(['busy']))
    // The other's beat still waits on the server, where it keeps members from being admitted.
    expect(await beatForLease(one, 'one', { forMs: 60_000 })).toEqual(lease)
    // The server ends while both wait. After that, the commit is on its disk, but not on the standby.
    await primary.crash()
    await primary.start()
    let isSettled = false
    const settled = waiting.finally(() => {
      isSettled = true
    })
    const admin = await connected(primary.url)
    const sql = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%commit_batch%'"
    await expect.poll(async () => (await admin.query(sql)).rows.length).toBeGreaterThan(0)
    expect((await admin.query("SELECT convert_from(key, 'UTF8') AS key, value FROM reply.stored")).rows).toEqual([
      { key: 'key', value: 'after' },
    ])
    expect(isSettled).toBe(false)
    await standby.start()
    expect(await settled).toEqual({ type: 'done' })
    await primary.crash()
    await standby.promote()
    const after = await postgresStore({ url: standby.url })
    expect([await after.read('key'), (await after.queue('q')).length]).toEqual(['after', 1])
    for (const store of [one, other, after]) await store.close()
  })
})
