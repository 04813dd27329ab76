import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreError } from '@reply/bridge'
import { hasPostgres, needsPostgres, type PostgresServer, startPostgres, startStandby } from '@reply/testing/internal'
import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkPostgres } from '../src/check.ts'
import { postgresStore } from '../src/index.ts'
import { beatForLease, connected } from './stage.ts'

/** Resolves with the error that opening a store rejects with. */
async function errorOf(url: string): Promise<StoreError> {
  const error: unknown = await postgresStore({ url }).then(
    () => expect.fail('It was opened.'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof StoreError)) throw error
  expect(`${error.message} ${error.stack}`).not.toContain(new URL(url).password)
  return error
}

/** Starts a server that is removed after the test. */
async function startServer(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const server = await startPostgres({ settings })
  onTestFinished(() => server.remove())
  return server
}

/** Connects as the owner until the end of the test. */
async function connectOwner(url: string): Promise<pg.Client> {
  const client = await connected(url)
  onTestFinished(() => client.end())
  return client
}

const failover = (commit: string) =>
  `synchronous_commit is ${commit}, and no standby is synchronous: a failover to a standby loses what was acknowledged in its last moments. Set synchronous_standby_names if you have a standby.`

describe.skipIf(!hasPostgres())(`an operator is told (${needsPostgres})`, () => {
  test('that the certificate of a server is not trusted, and which to name', async () => {
    const server = await startServer()
    const [key, certificate] = [join(server.root, 'data', 'server.key'), join(server.root, 'data', 'server.crt')]
    const subject = ['-subj', '/CN=db.example', '-addext', 'subjectAltName=DNS:db.example,IP:127.0.0.2']
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, ...subject],
      { stdio: 'ignore' },
    )
    const { uid, gid } = statSync(join(server.root, 'data'))
    for (const file of [key, certificate]) {
      if (process.getuid?.() === 0) chownSync(file, uid, gid)
      chmodSync(file, 0o600)
    }
    const admin = await connectOwner(server.url)
    await admin.query('ALTER SYSTEM SET ssl = on')
    await admin.query('SELECT pg_reload_conf()')
    const authority = join(tmpdir(), `reply-ca-${process.pid}.pem`)
    writeFileSync(authority, readFileSync(certificate))
    onTestFinished(() => rmSync(authority))
    const shows = async () => (await admin.query('SHOW ssl')).rows
    await expect.poll(shows).toEqual([{ ssl: 'on' }])
    const { host } = new URL(server.url)
    expect(await errorOf(`${server.url}?sslmode=verify-full`)).toMatchObject({
      type: 'failed',
      message: `PostgreSQL at ${host}/postgres has a certificate of an authority that is not known here. Name the authority's certificate in the URL: sslrootcert=/path/ca.pem.`,
    })
    expect(await errorOf(`${server.url}?sslmode=verify-full&sslrootcert=${authority}`)).toMatchObject({
      type: 'failed',
      message: `PostgreSQL at ${host}/postgres has a certificate for another name. Write that name in the URL.`,
    })
    await (await postgresStore({ url: `${server.url}?sslmode=no-verify` })).close()
  })

  test('that a server is shutting down, or starting', async () => {
    const server = await startServer()
    const { host } = new URL(server.url)
    const admin = await connectOwner(server.url)
    // It waits for this connection.
    process.kill(Number(readFileSync(join(server.root, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGTERM')
    await expect.poll(() => server.log()).toContain('received smart shutdown request')
    expect(await errorOf(server.url)).toMatchObject({
      type: 'busy',
      message: `PostgreSQL at ${host}/postgres is starting or stopping. The call is tried again.`,
    })
    await admin.end()
    await server.stop()
    expect(await errorOf(server.url)).toMatchObject({
      type: 'busy',
      message: `PostgreSQL at ${host}/postgres can't be reached. Start it, or correct the address.`,
    })
  })

  test('that all connections of a server are taken', async () => {
    const server = await startServer({ max_connections: '5', superuser_reserved_connections: '2' })
    const admin = await connectOwner(server.url)
    await admin.query("CREATE ROLE ann LOGIN PASSWORD 'hunter2-hunter2'")
    const url = server.url.replace(/reply:[^@]*/, 'ann:hunter2-hunter2')
    for (let index = 0; index < 2; index++) await connectOwner(url)
    expect(await errorOf(url)).toMatchObject({
      type: 'busy',
      message: expect.stringMatching(
        / takes no more connections\. Raise max_connections or the CONNECTION LIMIT of the user, or stop other programs\.$/,
      ),
    })
  })

  test('that a server is a standby, and what a failover would lose', async () => {
    const primary = await startServer()
    const { host } = new URL(primary.url)
    const standby = await startStandby(primary, { synchronous: false })
    onTestFinished(() => standby.remove())
    const first = `PostgreSQL ${(await (await connectOwner(primary.url)).query('SHOW server_version')).rows[0].server_version} at ${host}/postgres, schema "reply", can be written to, no state yet`
    expect(await checkPostgres({ url: primary.url })).toEqual([
      first,
      failover('on'),
      'Its notifications arrive, so bridges hear of each other at once.',
    ])
    const standbyHost = new URL(standby.url).host
    expect(await errorOf(standby.url)).toMatchObject({
      type: 'busy',
      message: `PostgreSQL at ${standbyHost}/postgres is read-only. If it is a standby, name the primary in the URL, else turn default_transaction_read_only off.`,
    })
    await expect(checkPostgres({ url: standby.url })).rejects.toMatchObject({
      type: 'failed',
      message: `PostgreSQL at ${standbyHost}/postgres is a standby, which is read-only. Name the primary in the URL.`,
    })
    const second = await startStandby(primary, { synchronous: true })
    onTestFinished(() => second.remove())
    const [, synchronous = ''] = await checkPostgres({ url: primary.url })
    expect(synchronous).toMatch(
      /^synchronous_commit is on, and commits wait for the standby \(FIRST 1 \(standby_\w+\)\): a failover to it loses nothing\.$/,
    )
    const admin = await connectOwner(primary.url)
    await admin.query('ALTER ROLE reply SET synchronous_commit = local')
    expect((await checkPostgres({ url: primary.url }))[1]).toMatch(
      /^synchronous_commit is local, so commits don't wait for the synchronous standby \(.*\), and a failover loses/,
    )
    await admin.query('ALTER ROLE reply SET synchronous_commit = off')
    expect((await checkPostgres({ url: primary.url }))[1]).toMatch(
      /^synchronous_commit is off, but on for the state, and commits wait for the standby \(.*\): a failover to it loses nothing\.$/,
    )
    const store = await postgresStore({ url: primary.url })
    const request = { member: 'one', forMs: 4000, layout: '1', wants: { shards: ['a', 'b'] }, budgets: {} }
    const beat = await store.beat(request)
    await second.suspend()
    const commit = store.commit([{ type: 'put', key: 'key', value: 'value' }])
    const waits = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    await expect.poll(async () => (await admin.query(waits)).rows).toEqual([{ count: 1 }])
    // A renewal waits for no standby.
    expect(await store.beat(request)).toEqual(beat)
    await second.resume()
    expect(await commit).toEqual({ type: 'done' })
    await store.close()
    await admin.query('ALTER SYSTEM SET fsync = off')
    await admin.query('SELECT pg_reload_conf()')
    const warnings = async () => await checkPostgres({ url: primary.url })
    await expect.poll(warnings).toContain('fsync is off: a crash of the server can damage the state. Turn it on.')
  })

  test('that the disk of a server is full, and it goes on when there is room (needs root)', async ({ skip }) => {
    const server = await startServer()
    const disk = join(server.root, 'disk')
    mkdirSync(disk)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]).status !== 0) skip()
    onTestFinished(() => void spawnSync('umount', ['-l', disk]))
    const { uid, gid } = statSync(join(server.root, 'data'))
    chownSync(disk, uid, gid)
    const admin = await connectOwner(server.url)
    await admin.query(`CREATE TABLESPACE small LOCATION '${disk}'`)
    await admin.query('ALTER ROLE reply SET default_tablespace = small')
    const store = await postgresStore({ url: server.url })
    onTestFinished(() => store.close())
    const beat = async () => await beatForLease(store, 'one', { forMs: 60_000 })
    await beat()
    await admin.query('CREATE TABLE filler (text text) TABLESPACE small')
    await admin.query('ALTER TABLE filler ALTER COLUMN text SET STORAGE EXTERNAL')
    await expect(
      admin.query("INSERT INTO filler SELECT repeat('x', 8000) FROM generate_series(1, 1000)"),
    ).rejects.toMatchObject({ code: '53100' })
    const settled = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        store.commit([{ type: 'put', key: `${index}`, value: `${Math.random()}`.repeat(20_000) }]),
      ),
    )
    for (const one of settled)
      expect(one).toMatchObject({
        status: 'rejected',
        reason: {
          type: 'busy',
          message: expect.stringMatching(/ has no room left on its disk\. Make room on it\.$/),
        },
      })
    expect(await store.list('')).toEqual([])
    // A member stays one, so the platform must deliver again what it can't store.
    expect(await beat()).toMatchObject({ fence: 1 })
    await admin.query('DROP TABLE filler')
    await admin.query('VACUUM reply.stored')
    expect(await store.commit([{ type: 'put', key: 'key', value: 'small' }])).toEqual({ type: 'done' })
  })
})
