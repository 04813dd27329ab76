import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import {
  BridgeError,
  checkBridge,
  exportState,
  forgetRow,
  importState,
  listFailed,
  openBridge,
  type Store,
  type Write,
} from '@reply/bridge'
import { bridgeChannel } from '@reply/telegram/bridge'
import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bridgeStore } from '../src/bridge.ts'
import { postgresStore } from '../src/index.ts'
import { beatForLease, connected } from './stage.ts'

const loadStore = async () => bridgeStore
const password = 'p@ß/w:rd?of#it&%all'

describe.skipIf(!hasPostgres())(`the state of a config (${needsPostgres})`, () => {
  let admin: pg.Client
  let url = ''
  let user = ''
  let folder = ''
  let path = ''
  beforeAll(async () => {
    const database = await (await sharedPostgres()).createDatabase()
    admin = await connected(database)
    user = `configured_${process.pid}`
    await admin.query(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`)
    await admin.query(`GRANT CREATE ON DATABASE ${new URL(database).pathname.slice(1)} TO ${user}`)
    const own = new URL(database)
    own.username = user
    own.password = encodeURIComponent(password)
    url = own.href
  })
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'reply-postgres-'))
    path = writeConfig('postgres', { type: 'postgres', url: { env: 'DATABASE_URL' } })
  })
  afterEach(async () => {
    rmSync(folder, { recursive: true })
    await admin.query('DROP SCHEMA IF EXISTS reply CASCADE')
  })
  afterAll(async () => await admin.end())

  function writeConfig(name: string, state: unknown): string {
    const file = join(folder, `${name}.json`)
    const channels = { tg: { type: 'telegram', token: { env: 'TOKEN' } } }
    const people = { ann: { ids: ['tg:1'], may: ['prompt', 'approve'] } }
    writeFileSync(file, JSON.stringify({ servers: { home: { url: 'http://127.0.0.1:1' } }, channels, people, state }))
    return file
  }
  const env = () => ({ TOKEN: '42:secret', DATABASE_URL: url })
  const options = () => ({ path, env: env(), loadStore })

  /** Resolves with the part of the state of `reply bridge --check`. */
  async function checked(databaseUrl = url) {
    const parts = await checkBridge({
      ...options(),
      env: { ...env(), DATABASE_URL: databaseUrl },
      load: async () => bridgeChannel,
    })
    return parts.find(({ part }) => part === 'state')
  }
  const heard = 'Its notifications arrive, so bridges hear of each other at once.'
  const address = () => `${new URL(url).host}${new URL(url).pathname}`
  const failover = (commit: string) =>
    `synchronous_commit is ${commit}, and no standby is synchronous: a failover to a standby loses what was acknowledged in its last moments. Set synchronous_standby_names if you have a standby.`

  test('is checked without a change: before there is one, with one, and beside a running bridge', async () => {
    const found = (present: string) => ({
      part: 'state',
      isUsable: true,
      found: expect.stringMatching(
        new RegExp(`^PostgreSQL \\d+\\S.* at ${address()}, schema "reply", can be written to, ${present}\n`),
      ),
    })
    expect(await checked()).toMatchObject(found('no state yet'))
    expect((await admin.query("SELECT 1 FROM pg_namespace WHERE nspname = 'reply'")).rows).toEqual([])
    const bridge = await openBridge({ ...options(), load: async () => bridgeChannel })
    expect(await checked()).toMatchObject(found('with the state of a bridge, version 1'))
    await bridge.stop()
  })

  test('is checked for what a failover could lose', async () => {
    for (const commit of ['on', 'local', 'off']) {
      await admin.query(`ALTER ROLE ${user} SET synchronous_commit = ${commit}`)
      expect((await checked())?.found.split('\n').slice(1)).toEqual([failover(commit), heard])
    }
    await admin.query(`ALTER ROLE ${user} RESET synchronous_commit`)
  })

  test('is checked for whether notifications arrive over the URL that listens', async () => {
    const other = await (await sharedPostgres()).createDatabase()
    path = writeConfig('listening', {
      ...{ type: 'postgres', url: { env: 'DATABASE_URL' }, listenUrl: { env: 'LISTEN_URL' } },
    })
    const lines = async (listenUrl: string) => {
      const parts = await checkBridge({
        ...options(),
        env: { ...env(), LISTEN_URL: listenUrl },
        load: async () => bridgeChannel,
      })
      return parts.find(({ part }) => part === 'state')?.found.split('\n')
    }
    expect((await lines(url))?.at(-1)).toBe(heard)
    // PostgreSQL passes notifications on within a database.
    const { host, pathname } = new URL(other)
    expect((await lines(other))?.at(-1)).toBe(
      `Notifications of PostgreSQL at ${host}${pathname} don't arrive, as behind a pooler in transaction mode, so each bridge looks for work every 500 ms. Set listenUrl to the URL of the server itself.`,
    )
    const wrong = new URL(url)
    wrong.password = 'hunter2'
    expect(await lines(wrong.href)).toEqual([
      `PostgreSQL at ${address()} refuses the user or the password. Correct them in the URL.`,
    ])
  })

  test('is checked for rights, on the database, the schema and the tables', async () => {
    const refused = {
      isUsable: false,
      found: `PostgreSQL at ${address()} does not let this user write the state. Grant it CREATE on the database, or make it the owner of the schema "reply".`,
    }
    const database = new URL(url).pathname.slice(1)
    await admin.query(`REVOKE CREATE ON DATABASE ${database} FROM ${user}`)
    expect(await checked()).toMatchObject(refused)
    await admin.query('CREATE SCHEMA reply')
    expect(await checked()).toMatchObject(refused)
    await (await postgresStore({ url: adminUrl() })).close()
    await admin.query(`GRANT USAGE ON SCHEMA reply TO ${user}`)
    await admin.query(`GRANT SELECT ON ALL TABLES IN SCHEMA reply TO ${user}`)
    expect(await checked()).toMatchObject(refused)
    await admin.query(`GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA reply TO ${user}`)
    expect(await checked()).toMatchObject({ isUsable: true })
    const store = await postgresStore({ url })
    expect(await store.commit([{ type: 'enqueue', queue: 'q', id: 'a', value: '' }])).toEqual({ type: 'done' })
    expect(await beatForLease(store, 'one')).toBeDefined()
    await store.close()
    await admin.query(`GRANT CREATE ON DATABASE ${database} TO ${user}`)
  })
  const adminUrl = () => {
    const { user: name, password: secret, host, port, database } = admin
    return `postgres://${name}:${secret}@${host}:${port}/${database}`
  }

  test('is checked for tables of another program, and for transactions that only read', async () => {
    await admin.query(`CREATE SCHEMA reply AUTHORIZATION ${user} CREATE TABLE queued (id int)`)
    const others = `PostgreSQL at ${address()} has tables of another program in this schema. Name another one.`
    expect(await checked()).toMatchObject({ isUsable: false, found: others })
    await admin.query(`ALTER ROLE ${user} SET default_transaction_read_only = on`)
    const reading = `PostgreSQL at ${address()} lets this user only read. Turn its default_transaction_read_only off.`
    expect(await checked()).toMatchObject({ isUsable: false, found: reading })
    await admin.query(`ALTER ROLE ${user} RESET default_transaction_read_only`)
  })

  test('is checked for a newer version', async () => {
    await (await postgresStore({ url })).close()
    await admin.query('UPDATE reply.state_version SET version = 9, min_reader = 8')
    expect(await checked()).toMatchObject({
      isUsable: false,
      found:
        'The state in the schema "reply" has version 9, and this bridge knows up to 1. Install the newer bridge again, or name another schema.',
    })
  })

  test('is checked for parts that were dropped, and for a version that was changed by hand', async () => {
    const lacking = `PostgreSQL at ${address()} lacks tables or functions of the state, which were dropped or not restored. Restore a backup, or name another schema.`
    const changed =
      'The version of the state in the schema "reply" was changed or deleted. Restore a backup, or name another schema.'
    await (await postgresStore({ url })).close()
    const parts = await admin.query<{ kind: string; name: string }>(
      `SELECT 'TABLE' AS kind, oid::regclass::text AS name FROM pg_class
        WHERE relnamespace = 'reply'::regnamespace AND relkind = 'r' AND relname <> 'state_version'
      UNION ALL SELECT 'FUNCTION', oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'reply'::regnamespace`,
    )
    const changes = [
      ...parts.rows.map(({ kind, name }) => [`DROP ${kind} ${name} CASCADE`, lacking]),
      ['DELETE FROM reply.state_version', changed],
      ['UPDATE reply.state_version SET version = 0', changed],
      ['INSERT INTO reply.state_version VALUES (9, 9)', changed],
    ] as const
    expect(changes.length).toBe(33)
    for (const [sql, found] of changes) {
      await admin.query(sql)
      expect([sql, await checked()]).toMatchObject([sql, { isUsable: false, found }])
      if (found === changed)
        await expect(postgresStore({ url })).rejects.toMatchObject({ type: 'failed', message: found })
      await admin.query('DROP SCHEMA reply CASCADE')
      await (await postgresStore({ url })).close()
    }
  })

  test('has errors that name the host, and never the password', async () => {
    const missing = url.replace(/[^/]+$/, 'nothing')
    const found = `PostgreSQL at ${address().replace(/[^/]+$/, 'nothing')} has no such database. Create it, or correct its name in the URL.`
    expect(await checked(missing)).toMatchObject({ isUsable: false, found })
    // Other errors of the process, for example those of a library.
    const raw = new URL(url).password
    for (const secret of [password, raw, encodeURIComponent(password)]) {
      const error = new BridgeError('state', `Not to be read: ${secret}`, { cause: new Error(`${missing} ${secret}`) })
      expect(inspect(error)).not.toContain(secret)
    }
  })

  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))
  const text = fc.oneof(
    fc.constantFrom('', '\0', '\ud83d', '\ude00\ud83d', '\uffff', '\u2028', 'json:"a"', '\\x00', "'"),
    fc.string({ unit, maxLength: 8 }),
  )
  const row: fc.Arbitrary<Write> = fc.oneof(
    fc.record({ type: fc.constant('put' as const), key: text, value: text }),
    fc.record({ type: fc.constant('enqueue' as const), queue: text, id: text, value: text }),
  )

  async function contentOf(store: Store): Promise<object> {
    const queues = (await store.queues('')).toSorted()
    const entries = await Promise.all(queues.map(async (name) => [name, await store.queue(name)]))
    return { values: await store.list(''), entries }
  }

  test('is the same after it went to SQLite and back', async () => {
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (writes) => {
        const state = (name: string) =>
          writeConfig(name, { type: 'postgres', url: { env: 'DATABASE_URL' }, schema: name })
        const [from, back] = [`from${round}`, `back${round}`]
        const sqlite = writeConfig(`sqlite${round}`, `./state${round++}`)
        const store = await postgresStore({ url, schema: from })
        for (const write of writes) await store.commit([write])
        const before = await contentOf(store)
        const first = { env: env(), file: join(folder, `${from}.jsonl`) }
        const counts = await exportState({ ...first, path: state(from), loadStore })
        expect(await importState({ ...first, path: sqlite })).toEqual(counts)
        const second = { env: env(), file: join(folder, `${back}.jsonl`) }
        await exportState({ ...second, path: sqlite })
        expect(await importState({ ...second, path: state(back), loadStore })).toEqual(counts)
        expect(readFileSync(second.file, 'utf8')).toBe(readFileSync(first.file, 'utf8'))
        const after = await postgresStore({ url, schema: back })
        expect(await contentOf(after)).toEqual(before)
        await store.close()
        await after.close()
        for (const schema of [from, back]) await admin.query(`DROP SCHEMA ${schema} CASCADE`)
      }),
      { numRuns: 5 },
    )
  })

  test('is not exported or imported while a bridge uses it', async () => {
    const bridge = await openBridge({ ...options(), load: async () => bridgeChannel })
    await bridge.start().catch(() => {})
    const file = join(folder, 'state.jsonl')
    await expect(exportState({ ...options(), file })).rejects.toThrow('Another process uses this state.')
    await bridge.stop()
    expect(await exportState({ ...options(), file })).toBeDefined()
  })

  test('has failures, which are listed and forgotten beside a process that works with it', async () => {
    expect(await listFailed(options())).toEqual([])
    expect((await admin.query("SELECT 1 FROM pg_namespace WHERE nspname = 'reply'")).rows).toEqual([])
    const store = await postgresStore({ url })
    const wants = { shard: ['shard/00'] }
    const beat = await store.beat({ member: 'one', forMs: 60_000, layout: 'one', wants, budgets: {} })
    const [lease] = beat.type === 'admitted' ? beat.leases : []
    expect(lease).toBeDefined()
    const failure = {
      type: 'row',
      key: 'route/tg/8/',
      value: 'oops',
      reason: 'it is not JSON',
      at: Date.UTC(2026, 0, 1),
    }
    const put = { type: 'put', key: 'failed/row/route/tg/8/', value: JSON.stringify(failure) } as const
    expect(await store.commit([put], lease)).toEqual({ type: 'done' })
    expect(await listFailed(options())).toMatchObject([{ type: 'row', what: 'row route/tg/8/' }])
    expect(await forgetRow({ ...options(), key: 'route/tg/9/' })).toBe(0)
    expect(await forgetRow({ ...options(), key: failure.key })).toBe(1)
    expect(await store.list('')).toEqual([])
    expect(await store.commit([], lease)).toEqual({ type: 'done' })
    await store.close()
  })
})
