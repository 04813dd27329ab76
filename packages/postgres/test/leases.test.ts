import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { postgresStore } from '../src/index.ts'
import { beatForLease, connected } from './stage.ts'

const minuteMs = 60_000

describe.skipIf(!hasPostgres())(`leases (${needsPostgres})`, () => {
  let url = ''
  let admin: pg.Client
  let holding: pg.Client
  let closes: (() => Promise<void>)[] = []
  beforeAll(async () => {
    url = await (await sharedPostgres()).createDatabase()
    admin = await connected(url)
    holding = await connected(url)
  })
  beforeEach(async () => {
    await (await open()).close()
    // Only `pass` advances the clock.
    await admin.query('CREATE TABLE reply.hand_clock AS SELECT clock_timestamp() AS at')
    await admin.query(
      'CREATE OR REPLACE FUNCTION reply.store_time() RETURNS timestamptz LANGUAGE sql AS $$ SELECT at FROM reply.hand_clock $$',
    )
  })
  afterEach(async () => {
    await holding.query('ROLLBACK')
    for (const close of closes) await close()
    closes = []
    await admin.query('DROP SCHEMA reply CASCADE')
  })
  afterAll(async () => {
    await holding.end()
    await admin.end()
  })

  async function open() {
    const store = await postgresStore({ url })
    closes.push(() => store.close())
    return store
  }
  const pass = async (ms: number) =>
    void (await admin.query("UPDATE reply.hand_clock SET at = at + $1 * interval '1 ms'", [ms]))
  /** Waits until a number of calls wait for locks. */
  const untilWaiting = async (expected: number) => {
    const sql =
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    await expect
      .poll(async () => (await admin.query<{ count: number }>(sql)).rows[0]?.count, { interval: 5 })
      .toBe(expected)
  }
  /** Keeps the value of a key locked, so that a commit that writes it does not end on the server. */
  const lockKey = async () => {
    await holding.query('BEGIN')
    await holding.query('SELECT 1 FROM reply.stored FOR UPDATE')
  }

  test('are renewed over a new connection if the old one stands still without a sign', async () => {
    const store = await open()
    const lease = await beatForLease(store, 'one')
    const sql =
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query LIKE '%.beat(%'"
    const [{ pid }] = (await admin.query<{ pid: number }>(sql)).rows as [{ pid: number }]
    process.kill(pid, 'SIGSTOP')
    onTestFinished(() => void process.kill(pid, 'SIGCONT'))
    expect(await beatForLease(store, 'one')).toEqual(lease)
  })

  /** A beat of a member that wants leases. */
  const beatOf = (member: string, names: readonly string[]) => ({
    ...{ member, forMs: 1000, layout: '1', wants: { shards: names }, budgets: {} },
  })

  test('are taken over once the running commits of the last holder have ended', async () => {
    const [one, other] = [await open(), await open()]
    const first = await one.beat(beatOf('one', ['a']))
    const lease = first.type === 'admitted' ? first.leases[0] : undefined
    await one.commit([{ type: 'put', key: 'key', value: 'before' }], lease)
    await lockKey()
    const running = one.commit([{ type: 'put', key: 'key', value: 'late' }], lease)
    await untilWaiting(1)
    await pass(1000)
    let isTaken = false
    const taking = other.beat(beatOf('other', ['a'])).finally(() => {
      isTaken = true
    })
    await untilWaiting(2)
    expect(isTaken).toBe(false)
    await holding.query('ROLLBACK')
    expect(await running).toEqual({ type: 'done' })
    expect(await taking).toMatchObject({ leases: [{ holder: 'other', fence: 2 }] })
    expect(await other.read('key')).toBe('late')
    expect(await one.commit([{ type: 'put', key: 'key', value: 'too late' }], lease)).toEqual({ type: 'fenced' })
  })

  test('are renewed while a commit runs, also if there are others to take', async () => {
    const [one, other] = [await open(), await open()]
    const first = await one.beat(beatOf('one', ['a', 'b']))
    await one.commit([{ type: 'put', key: 'key', value: 'before' }])
    await lockKey()
    const running = one.commit([{ type: 'put', key: 'key', value: 'after' }])
    await untilWaiting(1)
    await pass(900)
    expect(await one.beat(beatOf('one', ['a', 'b']))).toEqual(first)
    await pass(900)
    // It is renewed without the one that it can't take yet.
    expect(await one.beat(beatOf('one', ['a', 'b', 'c']))).toEqual(first)
    // The beat of another member, that takes a lease and is not answered yet, is not waited for either.
    await admin.query('BEGIN')
    await admin.query(`SELECT pg_advisory_xact_lock(hashtextextended('"reply"/members', 0))`)
    await pass(900)
    expect(await one.beat(beatOf('one', ['a', 'b']))).toEqual(first)
    await expect(other.beat(beatOf('other', ['a', 'b']))).rejects.toMatchObject({ type: 'busy' })
    await admin.query('ROLLBACK')
    expect(await other.beat(beatOf('other', ['a', 'b']))).toMatchObject({ leases: [], others: 1 })
    await holding.query('ROLLBACK')
    expect(await running).toEqual({ type: 'done' })
    expect(await one.beat(beatOf('one', ['a', 'b', 'c']))).toMatchObject({ leases: [{ name: 'a' }, { name: 'b' }] })
  })

  test('come with shares that are deleted once they no longer count, also if no member names their budget any more', async () => {
    const store = await open()
    const budgets = { old: { total: 25, windowMs: 5000, demand: 0, used: 0 } }
    await store.beat({ ...beatOf('one', []), budgets })
    const left = async () => (await admin.query<{ budget: string }>('SELECT budget FROM reply.shares')).rows
    await pass(1000)
    await store.beat(beatOf('other', []))
    expect(await left()).toEqual([{ budget: 'old' }])
    await pass(5000)
    await store.beat(beatOf('other', []))
    expect(await left()).toEqual([])
  })

  test('are fenced if another takes them while a commit waits for its turn', async () => {
    const [one, other] = [await open(), await open()]
    const lease = await beatForLease(one, 'one')
    await one.commit([{ type: 'put', key: 'key', value: 'before' }], lease)
    await pass(1000)
    // The taker waits for this commit of the holder, and the next commit of the holder waits for the taker.
    await lockKey()
    const third = await open()
    const running = third.commit([{ type: 'put', key: 'key', value: 'of a third' }])
    await untilWaiting(1)
    const taking = beatForLease(other, 'other')
    await untilWaiting(2)
    const late = one.commit([{ type: 'put', key: 'key', value: 'late' }], lease)
    await untilWaiting(3)
    await holding.query('ROLLBACK')
    expect(await Promise.all([running, taking, late])).toMatchObject([
      { type: 'done' },
      { holder: 'other' },
      { type: 'fenced' },
    ])
    expect(await one.read('key')).toBe('of a third')
  })

  test('count as expired if the clock was set back by more than a minute, and last longer if by less', async () => {
    const [one, other] = [await open(), await open()]
    const first = await beatForLease(one, 'one')
    await pass(-30_000)
    expect(await beatForLease(other, 'other')).toBeUndefined()
    expect(await beatForLease(one, 'one')).toEqual(first)
    await pass(1000)
    expect(await beatForLease(other, 'other')).toMatchObject({ fence: 2 })
    await pass(-2 * minuteMs)
    const again = await beatForLease(one, 'one')
    expect(again).toMatchObject({ holder: 'one', fence: 3 })
    expect(await one.commit([], again)).toEqual({ type: 'done' })
    await pass(-2 * minuteMs)
    expect(await beatForLease(one, 'one')).toMatchObject({ holder: 'one', fence: 4 })
  })

  test('of frozen budgets: a freeze ends if the clock was set back by more than a minute, and lasts longer if by less', async () => {
    const store = await open()
    const frozenForMs = async (freezeForMs?: number): Promise<number | undefined> => {
      const bot = { total: 25, windowMs: 1000, demand: 1, used: 0, freezeForMs }
      const beat = await store.beat({ member: 'one', forMs: 1000, layout: '1', wants: {}, budgets: { bot } })
      return beat.type === 'admitted' ? beat.budgets.bot?.frozenForMs : undefined
    }
    expect(await frozenForMs(9000)).toBe(9000)
    await pass(-30_000)
    expect(await frozenForMs()).toBe(39_000)
    await pass(-2 * minuteMs)
    expect(await frozenForMs()).toBe(0)
    expect(await frozenForMs(2000)).toBe(2000)
  })

  test('expire when the clock is set forward, and so do values', async () => {
    const store = await open()
    await (await open()).commit([])
    const lease = await beatForLease(store, 'one')
    await store.commit([{ type: 'put', key: 'short', value: '', expiresInMs: minuteMs }], lease)
    await pass(365 * 24 * 60 * minuteMs)
    expect(await store.commit([], lease)).toEqual({ type: 'fenced' })
    expect(await store.sweep()).toBe(1)
    // The record of the other store was older than 30 days.
    expect((await admin.query('SELECT batch FROM reply.writers')).rows).toEqual([{ batch: '2' }])
    expect(await beatForLease(store, 'one')).toMatchObject({ fence: 2 })
    expect(await store.commit([])).toEqual({ type: 'done' })
  })

  test('of no time, or of a time that is not a number, are not held', async () => {
    const store = await open()
    for (const [index, forMs] of [0, -1000].entries()) {
      expect(await store.beat({ ...beatOf('one', ['a']), forMs })).toMatchObject({ type: 'admitted', leases: [] })
      const lease = { name: 'a', holder: 'one', fence: index + 1, validForMs: 0 }
      expect(await store.commit([], lease)).toEqual({ type: 'fenced' })
    }
    for (const forMs of [Number.NaN, Number.POSITIVE_INFINITY])
      await expect(store.beat({ ...beatOf('one', ['a']), forMs })).rejects.toMatchObject({ type: 'failed' })
  })
})
