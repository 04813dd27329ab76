import { inspect } from 'node:util'
import { type Store, StoreError } from '@reply/bridge'
import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Connection } from '../src/connection.ts'
import { isRefusedByServer, toStoreError } from '../src/errors.ts'
import { postgresStore } from '../src/index.ts'
import { existingPostgresStore } from '../src/postgres-store.ts'
import { requireServer } from '../src/schema.ts'
import { beatForLease, onDatabase } from './stage.ts'

/** Encoded in a URL, it has no part of more than two characters in common with itself. */
const password = 'ü/ß?p@:é#%ö&'

/** Returns the error that opening a store rejects with, and fails if anything of it has a password. */
async function errorOf(opening: Promise<Store | undefined>, ...secrets: readonly string[]): Promise<StoreError> {
  const error: unknown = await opening.then(
    () => expect.fail('It was opened.'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof StoreError)) throw error
  const shown = [error.message, error.stack, inspect(error, { depth: 20, showHidden: true }), JSON.stringify(error)]
  for (const secret of [password, encodeURIComponent(password), ...secrets])
    for (const text of shown) expect(text).not.toContain(secret)
  return error
}

const cure = 'Write it as postgres://user:password@host:port/database, with the signs / ? # @ : % in the password as'

test.each([
  ['a folder', './state'],
  ['no scheme', 'db.example/reply'],
  ['another scheme', 'mysql://reply:hunter2@db.example/reply'],
  ['settings of libpq', 'host=db.example password=hunter2'],
  ['no number as its port', 'postgres://reply:hunter2@db.example:five/reply'],
  ['a port that is too large', 'postgres://reply:hunter2@db.example:543210/reply'],
  ['a password with a slash', 'postgres://reply:12/hunter2@db.example/reply'],
  ['a password with a question mark', 'postgres://reply:12?hunter2@db.example/reply'],
  ['a password with a hash', 'postgres://reply:12#hunter2@db.example/reply'],
  ['nothing', ''],
])('a URL that is wrong (%s) is refused with its form', async (_, url) => {
  for (const open of [postgresStore, existingPostgresStore]) {
    const error = await errorOf(open({ url }), 'hunter2')
    expect(error).toMatchObject({ type: 'failed', message: expect.stringContaining(cure) })
    expect(error.cause).toBeUndefined()
  }
})

test('a URL that names a missing file is refused with the file', async () => {
  const error = await errorOf(postgresStore({ url: 'postgres://u:hunter2@h/d?sslrootcert=/none/ca.pem' }), 'hunter2')
  expect(error).toMatchObject({
    type: 'failed',
    message: "The URL of the database names the file /none/ca.pem, which can't be read: ENOENT.",
  })
})

test('a schema whose name PostgreSQL would cut off is refused', async () => {
  for (const schema of ['', 'ü'.repeat(32), 'a\0b'])
    expect(await errorOf(postgresStore({ url: 'postgres://127.0.0.1:1/reply', schema }))).toMatchObject({
      type: 'failed',
      message: expect.stringContaining('Give it 1 to 63'),
    })
})

test('a schema whose name PostgreSQL keeps for itself is refused', async () => {
  for (const open of [postgresStore, existingPostgresStore])
    expect(await errorOf(open({ url: 'postgres://127.0.0.1:1/reply', schema: 'pg_reply' }))).toMatchObject({
      type: 'failed',
      message: 'PostgreSQL keeps names of schemas that begin with pg_ for itself. Name another one.',
    })
})

test('a server that is down, or whose name is unknown, is named with a cure', async () => {
  const down = await errorOf(
    postgresStore({ url: `postgres://reply:${encodeURIComponent(password)}@127.0.0.1:1/bridge` }),
  )
  expect(down).toMatchObject({
    type: 'busy',
    message: "PostgreSQL at 127.0.0.1:1/bridge can't be reached. Start it, or correct the address.",
  })
  const unknown = await errorOf(postgresStore({ url: 'postgres://reply@nowhere.invalid/bridge' }))
  expect(unknown.type).toBe('busy')
  // Without a network, its DNS server can't be reached either.
  expect(unknown.message).toMatch(
    /^PostgreSQL at nowhere\.invalid:5432\/bridge can't be reached(, because its name .*\. (Start it, or correct the URL|Check the DNS)\.|\. Start it, or correct the address\.)$/,
  )
})

test.each([
  [
    { number: 120_022, version: '12.22', encoding: 'UTF8', isolation: 'read committed' },
    /^PostgreSQL 12\.22 is too old/,
  ],
  [{ number: 170_002, version: '17.2', encoding: 'LATIN1', isolation: 'read committed' }, /encoding LATIN1\. Create/],
  [{ number: 170_002, version: '17.2', encoding: 'UTF8', isolation: 'serializable' }, /'serializable'\. Set it to/],
])('a server that does not fit is refused: %j', async (row, message) => {
  const connection = { query: async () => [row] } as unknown as Connection
  await expect(requireServer(connection)).rejects.toMatchObject({
    type: 'failed',
    message: expect.stringMatching(message),
  })
})

test.each([
  [{ code: '22P02', severity: 'ERROR' }, true],
  [{ code: '22P02', severity: 'FEHLER' }, true],
  [{ code: '53100', severity: 'ERROR' }, true],
  [{ code: 'XX001', severity: 'ERROR' }, true],
  // A panic while the commit was written to the disk.
  [{ code: '53100', severity: 'PANIC' }, false],
  [{ code: '53100', severity: 'PANIK' }, false],
  [{ code: 'XX000', severity: 'PANIC' }, false],
  [{ code: '57P01', severity: 'FATAL' }, false],
  [{ code: '08P01', severity: 'ERROR' }, false],
  [{ code: 'EPIPE' }, false],
  [{}, false],
])('%j means that the transaction was surely not made: %j', (fields, isSure) => {
  expect(isRefusedByServer(Object.assign(new Error('x'), fields))).toBe(isSure)
})

test('an error that is not known is quoted, in one sentence', () => {
  for (const message of ['it is odd', 'it is odd.'])
    expect(toStoreError('db:1/reply', new Error(message)).message).toBe('PostgreSQL at db:1/reply failed: it is odd.')
})

describe.skipIf(!hasPostgres())(`on a server (${needsPostgres})`, () => {
  let url = ''
  let server = ''
  let users = 0
  beforeAll(async () => {
    url = await (await sharedPostgres()).createDatabase()
    const { host, pathname } = new URL(url)
    server = `PostgreSQL at ${host}${pathname}`
  })

  /** Runs statements as the owner. */
  const run = (...statements: readonly string[]) =>
    onDatabase(url, async (client) => {
      for (const statement of statements) await client.query(statement)
    })

  /** Creates a user with a password and attributes, and resolves with its URL and its name. */
  async function addUser(attributes = ''): Promise<{ readonly url: string; readonly name: string }> {
    const name = `errors_${process.pid}_${users++}`
    await run(`CREATE ROLE ${name} LOGIN PASSWORD '${password}' ${attributes}`)
    const own = new URL(url)
    own.username = name
    own.password = encodeURIComponent(password)
    return { url: own.href, name }
  }

  test('a wrong password is refused, and a missing one is asked for', async () => {
    const { url: own } = await addUser()
    const wrong = own.replace(encodeURIComponent(password), 'hunter2')
    expect(await errorOf(postgresStore({ url: wrong }), 'hunter2')).toMatchObject({
      type: 'failed',
      message: `${server} refuses the user or the password. Correct them in the URL.`,
    })
    const none = own.replace(`:${encodeURIComponent(password)}`, '')
    expect(await errorOf(postgresStore({ url: none }))).toMatchObject({
      type: 'failed',
      message: `${server} asks for a password. Write it in the URL.`,
    })
  })

  test('a database that does not exist is named', async () => {
    const { url: own } = await addUser()
    expect(await errorOf(postgresStore({ url: own.replace(/[^/]+$/, 'nothing') }))).toMatchObject({
      type: 'failed',
      message: expect.stringMatching(/\/nothing has no such database\. Create it, or correct its name in the URL\.$/),
    })
  })

  test('a user without rights gets to know which it needs', async () => {
    const { url: own, name } = await addUser()
    await run('CREATE SCHEMA theirs', 'CREATE TABLE theirs.state_version (version int, min_reader int)')
    await run('CREATE SCHEMA seen', `GRANT USAGE ON SCHEMA seen TO ${name}`)
    for (const schema of ['new', 'theirs', 'seen'])
      expect(await errorOf(postgresStore({ url: own, schema }))).toMatchObject({
        type: 'failed',
        message: `${server} gives this user too few rights. Grant it CREATE on the database, or make it the owner of the schema.`,
      })
    await run(`CREATE SCHEMA own AUTHORIZATION ${name}`)
    await (await postgresStore({ url: own, schema: 'own' })).close()
  })

  test('a row that was written by hand is read as it is, and left out if no call could name it', async () => {
    const store = await postgresStore({ url, schema: 'byhand' })
    const values = ['json:', 'json:{"a":', 'json:null', 'null', '']
    await run(
      ...values.map((value, at) => `INSERT INTO byhand.stored VALUES ('k${at}', '${value}')`),
      "INSERT INTO byhand.stored VALUES ('k\\377', 'a')",
      ...values.map((value, at) => `INSERT INTO byhand.queued (queue, id, value) VALUES ('q', '${at}', '${value}')`),
      "INSERT INTO byhand.queued (queue, id, value) VALUES ('q', '\\377', 'a'), ('q\\377', '1', 'a')",
    )
    expect(await store.list('k')).toEqual(values.map((value, at) => ({ key: `k${at}`, value })))
    expect(await store.queues('q')).toEqual(['q'])
    expect(await store.queue('q')).toEqual(values.map((value, at) => ({ id: `${at}`, value })))
    const writes = values.map(
      (expected, at) => ({ type: 'compare-and-set', key: `k${at}`, expected, value: undefined }) as const,
    )
    expect(await store.commit(writes)).toEqual({ type: 'done' })
    await store.close()
    await run('DROP SCHEMA byhand CASCADE')
  })

  test.each(['DROP TABLE lost.stored CASCADE', 'DROP FUNCTION lost.commit_batch', 'DROP SCHEMA lost CASCADE'])(
    'a part of the state that is dropped while a bridge runs is named with a cure: %s',
    async (statement) => {
      const store = await postgresStore({ url, schema: 'lost' })
      await run(statement)
      const lacking = {
        type: 'failed',
        message: `${server} lacks tables or functions of the state, which were dropped or not restored. Restore a backup, or name another schema.`,
      }
      await expect(store.commit([{ type: 'put', key: 'a', value: '' }])).rejects.toMatchObject(lacking)
      await store.close()
      await run('DROP SCHEMA IF EXISTS lost CASCADE')
    },
  )

  test.each([
    'CREATE TABLE their.stored (id int)',
    'CREATE TABLE their.state_version (their_column int)',
    'CREATE TYPE their.queued AS ENUM ()',
    'CREATE VIEW their.leased AS SELECT 1 AS one',
    'CREATE FUNCTION their.store_time() RETURNS timestamptz LANGUAGE sql AS $$ SELECT now() $$',
  ])('a schema of another program is left as it is: %s', async (statement) => {
    await run('CREATE SCHEMA their', statement)
    try {
      expect(await errorOf(postgresStore({ url, schema: 'their' }))).toMatchObject({
        type: 'failed',
        message: `${server} has tables of another program in this schema. Name another one.`,
      })
      await onDatabase(url, async (client) => {
        const { rows } = await client.query(
          "SELECT count(*)::int AS count FROM pg_class WHERE relnamespace = 'their'::regnamespace AND relkind IN ('r', 'v')",
        )
        expect(rows).toEqual([{ count: /TABLE|VIEW/.test(statement) ? 1 : 0 }])
      })
    } finally {
      await run('DROP SCHEMA their CASCADE')
    }
  })

  test('a user that may not connect again has to wait', async () => {
    const { url: own } = await addUser('CONNECTION LIMIT 0')
    expect(await errorOf(postgresStore({ url: own }))).toMatchObject({
      type: 'busy',
      message: `${server} takes no more connections. Raise max_connections or the CONNECTION LIMIT of the user, or stop other programs.`,
    })
  })

  test('a server without TLS is not used if TLS is required', async () => {
    const { url: own } = await addUser()
    expect(await errorOf(postgresStore({ url: `${own}?sslmode=verify-full` }))).toMatchObject({
      type: 'failed',
      message: `${server} has no TLS. Turn ssl on in postgresql.conf, or write sslmode=disable in the URL.`,
    })
  })

  test('a database with another encoding is refused', async () => {
    const name = `ascii_${process.pid}`
    await run(`CREATE DATABASE ${name} ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'`)
    expect(await errorOf(postgresStore({ url: url.replace(/[^/]+$/, name) }))).toMatchObject({
      type: 'failed',
      message: 'The database has the encoding SQL_ASCII. Create one with the encoding UTF8.',
    })
  })

  /** Expects that both connections of a store can be used. */
  async function expectUsable(store: Store) {
    expect(await store.commit([])).toEqual({ type: 'done' })
    expect(await beatForLease(store, 'one', { name: 'other' })).toBeDefined()
  }

  test('a user whose transactions are read-only or isolated too far is told so, and an open store goes on once that is corrected', async () => {
    const { url: own, name } = await addUser()
    await run(`CREATE SCHEMA ${name} AUTHORIZATION ${name}`)
    const store = await postgresStore({ url: own, schema: name })
    await run(`ALTER ROLE ${name} SET default_transaction_isolation = 'repeatable read'`)
    expect(await errorOf(postgresStore({ url: own, schema: name }))).toMatchObject({
      type: 'failed',
      message: `The user of the database has default_transaction_isolation = 'repeatable read'. Set it to 'read committed'.`,
    })
    const isolated = {
      type: 'failed',
      message: `${server} isolates this user's transactions too far. Set its default_transaction_isolation to 'read committed'.`,
    }
    await expect(store.commit([])).rejects.toMatchObject(isolated)
    await expect(beatForLease(store, 'one')).rejects.toMatchObject(isolated)
    await run(`ALTER ROLE ${name} RESET ALL`)
    await expectUsable(store)
    await store.close()
    await run(`ALTER ROLE ${name} SET default_transaction_read_only = on`)
    const reading = await postgresStore({ url: own, schema: name })
    const readOnly = {
      type: 'busy',
      message: expect.stringMatching(
        / is read-only\. If it is a standby, .* turn default_transaction_read_only off\.$/,
      ),
    }
    await expect(reading.commit([])).rejects.toMatchObject(readOnly)
    await expect(beatForLease(reading, 'other')).rejects.toMatchObject(readOnly)
    await run(`ALTER ROLE ${name} RESET ALL`)
    await expectUsable(reading)
    await reading.close()
  })

  test.each([
    ['53100', 'busy', 'has no room left on its disk. Make room on it.'],
    ['53200', 'busy', 'has too little memory for the call, which is tried again.'],
    ['22000', 'failed', 'failed: too much.'],
  ])('a commit that the server refuses with %s is not made', async (code, type, sentence) => {
    const store = await postgresStore({ url, schema: 'full' })
    await run(
      `CREATE OR REPLACE FUNCTION "full".store_time() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = 'too much'; END $$`,
    )
    await expect(store.commit([{ type: 'put', key: 'key', value: 'value' }])).rejects.toMatchObject({
      type,
      message: `${server} ${sentence}`,
    })
    await store.close()
    await run('DROP SCHEMA "full" CASCADE')
  })
})
