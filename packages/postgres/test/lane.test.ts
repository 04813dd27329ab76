import { randomBytes } from 'node:crypto'
import { StoreError, type Write } from '@reply/bridge'
import {
  hasPostgres,
  needsPostgres,
  type PostgresProxy,
  sharedPostgres,
  startPostgresProxy,
} from '@reply/testing/internal'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { postgresStore } from '../src/index.ts'
import { beatForLease, connected, onDatabase } from './stage.ts'

const put = (key: string, value: string, expiresInMs?: number): Write => ({ type: 'put', key, value, expiresInMs })
/** No index of PostgreSQL has room for it. */
const longKey = randomBytes(4000).toString('hex')

describe.skipIf(!hasPostgres())(`commits (${needsPostgres})`, () => {
  let url = ''
  let proxy: PostgresProxy
  let admin: pg.Client
  beforeAll(async () => {
    url = await (await sharedPostgres()).createDatabase()
    admin = await connected(url)
  })
  beforeEach(async () => {
    proxy = await startPostgresProxy({ target: url })
  })
  afterEach(async () => {
    await proxy.close()
    await admin.query('DROP SCHEMA IF EXISTS reply CASCADE')
  })
  afterAll(async () => await admin.end())

  const open = async (at = proxy.url) => {
    const store = await postgresStore({ url: at })
    onTestFinished(() => store.close())
    return store
  }
  /** Lets each call that reads the server's clock fail, until `CREATE OR REPLACE` again. */
  const setClock = (body: string) =>
    admin.query(
      `CREATE OR REPLACE FUNCTION reply.store_time() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN ${body}; END $$`,
    )

  test('of a hundred that are sent together, only the one that the server refuses is rejected', async () => {
    const store = await open()
    const commits = Array.from({ length: 100 }, (_, index) =>
      store.commit([put(index === 42 ? longKey : `key${index}`, 'value')]),
    )
    const settled = await Promise.allSettled(commits)
    const rejected = settled.flatMap((one, index) => (one.status === 'rejected' ? [{ index, reason: one.reason }] : []))
    expect(rejected).toMatchObject([
      {
        index: 42,
        reason: { type: 'failed', message: expect.stringContaining('a key or id of more than 2,600 bytes') },
      },
    ])
    expect((await store.list('')).length).toBe(99)
  })

  test('are seen by the reads after them', async () => {
    const store = await open()
    await store.commit([put('key', 'old')])
    const [, , after] = await Promise.all([
      store.read('key'),
      store.commit([put('key', 'new')]),
      Promise.all([store.read('key'), store.list('k'), store.queue('key'), store.queues('')]),
    ])
    expect(after).toEqual(['new', [{ key: 'key', value: 'new' }], [], []])
  })

  test('do not wait for the reads of other callers: both are sent together', async () => {
    const store = await open()
    await store.commit([])
    const sent: string[] = []
    const kinds = ['commit_batch', 'WITH ORDINALITY']
    void proxy.loseNextQuery((bytes) => {
      sent.push(...kinds.filter((kind) => bytes.includes(kind)))
      return false
    })
    await Promise.all([1, 2, 3].flatMap((n) => [store.read(`key${n}`), store.commit([put(`key${n}`, '')])]))
    expect(sent).toEqual(kinds)
  })

  test('may have keys, and queues with ids, of 2,600 bytes that can not be compressed', async () => {
    const store = await open(url)
    const key = randomBytes(1950).toString('base64')
    const [queue, id] = [key.slice(0, 1300), key.slice(1300)]
    expect(await store.commit([put(key, ''), { type: 'enqueue', queue, id, value: '' }])).toEqual({ type: 'done' })
    expect([(await store.list(''))[0]?.key, await store.queues(''), (await store.queue(queue))[0]?.id]).toEqual([
      key,
      [queue],
      id,
    ])
  })

  test('one that is lost on its way and then refused is rejected, and surely not made', async () => {
    const store = await open()
    await store.commit([])
    const lost = proxy.loseNextQuery((bytes) => bytes.includes('poison'))
    await expect(store.commit([put('key', 'poison'), put(longKey, '')])).rejects.toMatchObject({ type: 'failed' })
    await lost
    await store.commit([put('next', '')])
    expect((await store.list('')).map(({ key }) => key)).toEqual(['next'])
  })

  test('one that was made is done, although the server refuses its second try', async () => {
    const store = await open()
    await store.commit([])
    const lost = proxy.loseNextAnswer((bytes) => bytes.includes('"made"'))
    const made = store.commit([{ type: 'put-if-absent', key: 'key', value: 'made' }])
    await lost
    await setClock('RAISE EXCEPTION USING ERRCODE = $q$53100$q$')
    const refused = proxy.loseNextAnswer((bytes) => bytes.includes('commit_batch'))
    await refused
    await setClock('RETURN clock_timestamp()')
    expect(await made).toEqual({ type: 'done' })
    expect(await store.read('key')).toBe('made')
  })

  describe('with a time', () => {
    const realNow = Date.now
    afterEach(() => {
      Date.now = realNow
    })
    /** This computer sleeps for a minute. */
    const sleep = (): void => {
      Date.now = () => realNow() + 60_000
    }

    test('are made within it by the clock of the server, or never, also if they are held up on their way', async () => {
      const store = await open()
      await admin.query('CREATE SEQUENCE reply.calls')
      await setClock("RETURN timestamptz '2026-01-01' + nextval('reply.calls') * interval '10 s'")
      expect(await store.commit([put('key', 'in time')], undefined, { withinMs: 60_000 })).toEqual({ type: 'done' })
      expect(await store.commit([put('key', 'late')], undefined, { withinMs: 5000 })).toEqual({ type: 'late' })
      await setClock('RETURN clock_timestamp()')
      expect(await store.read('key')).toBe('in time')
    })

    test('leave those that are sent with them as they are', async () => {
      const store = await open()
      const sent = [
        store.commit([put('key', 'other')]),
        store.commit([put('key', 'late')], undefined, { withinMs: -1 }),
        store.commit([{ type: 'put-if-absent', key: 'key', value: 'late' }], undefined, { withinMs: -1 }),
      ]
      expect(await Promise.all(sent)).toEqual([{ type: 'done' }, { type: 'late' }, { type: 'late' }])
      expect(await store.read('key')).toBe('other')
    })

    test('are not made by a repeat after it', async () => {
      const store = await open()
      await store.commit([])
      const lost = proxy.loseNextQuery((bytes) => bytes.includes('"late"'))
      const committing = store.commit([put('key', 'late')], undefined, { withinMs: 30_000 })
      await lost
      sleep()
      expect(await committing).toEqual({ type: 'late' })
      expect(await store.read('key')).toBeUndefined()
    })

    test('are done if they were made in it, although the answer was lost', async () => {
      const store = await open()
      await store.commit([])
      const lost = proxy.loseNextAnswer((bytes) => bytes.includes('"made"'))
      const committing = store.commit([put('key', 'made')], undefined, { withinMs: 30_000 })
      await lost
      sleep()
      expect(await committing).toEqual({ type: 'done' })
      expect(await store.read('key')).toBe('made')
    })
  })

  test('a batch that arrives twice is made once, in either order and at the same time', async () => {
    await open()
    const writer = '00000000-0000-4000-8000-000000000001'
    const send = async (client: pg.Client, number: number, writes: readonly object[]) => {
      const commits = JSON.stringify(writes.map((write, n) => ({ writes: [{ n, ...write }] })))
      const sql = 'SELECT reply.commit_batch($1, $2, $3) AS results'
      return (await client.query<{ results: number[] }>(sql, [writer, number, commits])).rows[0]?.results
    }
    const enqueue = { t: 'enqueue', k: '\\x61', i: '\\x61', v: '' }
    const other = await connected(url)
    expect(await Promise.all([send(admin, 1, [enqueue]), send(other, 1, [enqueue])])).toEqual([[-1], [-1]])
    expect(await send(admin, 2, [enqueue])).toEqual([0])
    // The first try of batch 1 arrives after everything.
    await expect(send(other, 1, [enqueue])).rejects.toThrow('Batch 1 of this writer was sent after batch 2.')
    // A batch without commits took its number.
    expect(await send(admin, 3, [])).toEqual([])
    expect(await send(other, 3, [{ ...enqueue, i: '\\x62' }])).toEqual([])
    await other.end()
    expect((await admin.query('SELECT id FROM reply.queued')).rows).toEqual([{ id: Buffer.from('a') }])
  })

  test('values that expire after no time, never, or at no number of ms', async () => {
    const store = await open(url)
    const times = [-1, -Number.MAX_VALUE, 0, 1e14, 1e300, Number.POSITIVE_INFINITY, Number.NaN]
    await Promise.all(times.map((ms) => store.commit([put(`put ${ms}`, '', ms)])))
    await store.commit(
      times.map((expiresInMs) => ({ type: 'put-if-absent', key: `absent ${expiresInMs}`, value: '', expiresInMs })),
    )
    const left = (await store.list('')).map(({ key, expiresInMs }) => [key, expiresInMs === undefined])
    expect(left).toEqual(
      ['absent', 'put'].flatMap((name) => [
        [`${name} 100000000000000`, false],
        [`${name} 1e+300`, true],
        [`${name} Infinity`, true],
        [`${name} NaN`, true],
      ]),
    )
  })

  test('two commits that each require the absence of what the other puts are not both made', async () => {
    const stores = [await open(url), await open(url)]
    for (let round = 0; round < 20; round++) {
      const names = [`one${round}`, `other${round}`]
      const commits = stores.map((store, index) =>
        store.commit([
          { type: 'compare-and-set', key: names[index] ?? '', expected: undefined, value: undefined },
          put(names[1 - index] ?? '', ''),
        ]),
      )
      expect((await Promise.all(commits)).map(({ type }) => type).toSorted()).toEqual(['conflict', 'done'])
    }
  })

  test('many lost connections leave none behind, and no warning', async () => {
    const warnings: Error[] = []
    const warn = (warning: Error) => void warnings.push(warning)
    process.on('warning', warn)
    const store = await open()
    for (let round = 0; round < 12; round++) {
      proxy.breakConnections()
      await store.commit([put('round', `${round}`)])
      await beatForLease(store, 'one').catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreError)
      })
    }
    process.off('warning', warn)
    expect(warnings).toEqual([])
    expect(await store.read('round')).toBe('11')
    const count = async () => {
      const sql =
        "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'reply bridge'"
      return (await admin.query<{ count: number }>(sql)).rows[0]?.count
    }
    await expect.poll(count).toBeLessThanOrEqual(2)
    await store.close()
    await expect.poll(count).toBe(0)
  })

  test('reads that wait at the same time are one statement', async () => {
    const store = await open()
    const keys = Array.from({ length: 50 }, (_, index) => `key${index}`)
    await store.commit(keys.map((key) => put(key, `value of ${key}`, 60_000)))
    await admin.query('CREATE SEQUENCE reply.reads')
    await setClock("PERFORM nextval('reply.reads'); RETURN clock_timestamp()")
    const counted = async (): Promise<number> =>
      (await admin.query<{ count: number }>('SELECT last_value::int AS count FROM reply.reads')).rows[0]?.count ?? 0
    await store.read('key0')
    const ofOne = await counted()
    const read = await Promise.all(keys.map(async (key) => await store.read(key)))
    expect(read).toEqual(keys.map((key) => `value of ${key}`))
    expect(await counted()).toBe(2 * ofOne)
  })

  test('a state that is removed while it is open is an error, and no commit is made again and again', async () => {
    const store = await open(url)
    await store.commit([])
    await onDatabase(url, async (client) => void (await client.query('DROP SCHEMA reply CASCADE')))
    await expect(store.commit([put('key', '')])).rejects.toMatchObject({
      type: 'failed',
      message: expect.stringContaining('lacks tables or functions of the state'),
    })
    await expect(store.read('key')).rejects.toMatchObject({ type: 'failed' })
  })
})
