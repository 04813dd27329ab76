import {
  hasPostgres,
  needsPostgres,
  type PostgresServer,
  startPostgres,
  startPostgresProxy,
} from '@reply/testing/internal'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type PostgresStoreOptions, postgresStore } from '../src/index.ts'
import { connected } from './stage.ts'

describe.skipIf(!hasPostgres())(`hints (${needsPostgres})`, () => {
  let server: PostgresServer
  let admin: pg.Client
  beforeAll(async () => {
    server = await startPostgres()
    admin = await connected(server.url)
  })
  afterAll(async () => {
    await admin.end()
    await server.remove()
  })

  async function open(options: PostgresStoreOptions = {}) {
    const notices: string[] = []
    const store = await postgresStore({ url: server.url, onNotice: (notice) => notices.push(notice), ...options })
    onTestFinished(async () => await store.close())
    return { store, notices, send: async (hint: string) => void (await store.commit([], undefined, { hint })) }
  }
  /** Listens, and keeps the hints that it hears. */
  async function listening(options: PostgresStoreOptions = {}) {
    const { store, notices, send } = await open(options)
    const heard: string[] = []
    store.watch((hint) => heard.push(hint))
    return { store, notices, send, heard }
  }
  const until = async (heard: readonly string[], expected: unknown) => {
    await expect.poll(() => heard, { interval: 5, timeout: 10_000 }).toEqual(expected)
  }

  test('begin with an empty one, as any may have been missed, and again after the connection was lost', async () => {
    const { heard, notices } = await listening()
    const { send } = await open()
    await until(heard, [''])
    await send('inbox/01')
    await until(heard, ['', 'inbox/01'])
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'")
    // For what is missed until the new connection listens.
    await expect.poll(() => heard.slice(2)).toContain('')
    await expect
      .poll(async () => {
        await send('inbox/02')
        return heard.slice(2)
      })
      .toContain('inbox/02')
    expect(heard.slice(2, heard.indexOf('inbox/02')).every((hint) => hint === '')).toBe(true)
    expect(notices).toEqual([])
  })

  test('arrive again after a connection stood still without a sign', async () => {
    const proxy = await startPostgresProxy({ target: server.url })
    onTestFinished(async () => await proxy.close())
    const { heard } = await listening({ listenUrl: proxy.url })
    const { send } = await open()
    await until(heard, [''])
    await proxy.cutOff('silent')
    await send('lost')
    await expect.poll(() => heard.length, { timeout: 20_000 }).toBeGreaterThan(1)
    await proxy.restore()
    await expect
      .poll(
        async () => {
          await send('inbox/01')
          return heard
        },
        { timeout: 20_000 },
      )
      .toContain('inbox/01')
  })

  test('arrive only in their own schema', async () => {
    const { heard } = await listening({ schema: 'one "state"' })
    const { send } = await open({ schema: 'other' })
    const own = await open({ schema: 'one "state"' })
    await until(heard, [''])
    await send('foreign')
    await own.send('own')
    await until(heard, ['', 'own'])
  })

  test('that can not arrive are replaced by empty ones, and one notice says why', async () => {
    // PostgreSQL passes notifications on within a database, like a pooler that does not keep sessions.
    const other = await server.createDatabase()
    const { heard, notices, send } = await listening({ listenUrl: other })
    await until(heard, ['', '', ''])
    await send('inbox/01')
    await until(heard, ['', '', '', ''])
    const { host, pathname } = new URL(other)
    expect(notices).toEqual([
      `Notifications of PostgreSQL at ${host}${pathname} don't arrive, as behind a pooler in transaction mode, so each bridge looks for work every 500 ms. Set listenUrl to the URL of the server itself.`,
    ])
  })

  test('of a URL that the server refuses are replaced too, and the notice has no password', async () => {
    const wrong = new URL(server.url)
    wrong.password = 'hunter2'
    const { heard, notices } = await listening({ listenUrl: wrong.href })
    await until(heard, ['', ''])
    expect(notices).toEqual([
      `PostgreSQL at ${wrong.host}${wrong.pathname} refuses the user or the password. Correct them in the URL.`,
    ])
    await expect(postgresStore({ url: server.url, listenUrl: 'nonsense hunter2' })).rejects.toMatchObject({
      type: 'failed',
      message: expect.not.stringContaining('hunter2'),
    })
  })
})
