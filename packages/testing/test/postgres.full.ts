import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  hasPostgres,
  needsPostgres,
  type PostgresServer,
  sharedPostgres,
  startPostgres,
  startStandby,
} from '../src/internal.ts'
import { startFixture } from './ended-process.ts'

/** Runs one statement on a connection of its own, and resolves with its rows. */
const ask = async (url: string, statement: string): Promise<readonly unknown[]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** Whether a server accepts connections. */
const isUp = async (url: string): Promise<boolean> => {
  try {
    await ask(url, 'select 1')
    return true
  } catch {
    return false
  }
}

/** The state of a process as `ps` shows it: `T` is stopped by a signal, `Z` has ended. Empty if it is gone. */
const stateOf = (pid: number): string => {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}

const isThere = (pid: number): boolean => !['', 'Z', 'X'].includes(stateOf(pid))

/** The ids of the processes that a server has started. */
const processesOf = async (url: string): Promise<readonly number[]> => {
  const rows = await ask(url, 'select pid from pg_stat_activity where pid <> pg_backend_pid()')
  return rows.map((row) => (row as { pid: number }).pid)
}

describe.skipIf(!hasPostgres())(`a PostgreSQL server (${needsPostgres})`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ settings: { max_connections: '20' } })
  })
  afterAll(async () => {
    await server.remove()
  })

  test('listens on loopback only, is careful with commits, and has the settings that it was given', async () => {
    const settings = await ask(
      server.url,
      `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'max_connections',
       'listen_addresses', 'unix_socket_directories') order by name`,
    )
    expect(settings.map((row) => Object.values(row as object))).toEqual([
      ['fsync', 'on'],
      ['listen_addresses', '127.0.0.1'],
      ['max_connections', '20'],
      ['synchronous_commit', 'on'],
      ['unix_socket_directories', ''],
    ])
  })

  test('refuses a wrong password', async () => {
    await expect(ask(server.url.replace(/:\w+@/, ':wrong@'), 'select 1')).rejects.toMatchObject({ code: '28P01' })
  })

  test('that crashes keeps the rows that were committed, and no others', async () => {
    const url = await server.createDatabase()
    await ask(url, 'create table kept (value text)')
    await ask(url, "insert into kept values ('committed')")
    const open = new pg.Client({ connectionString: url })
    await open.connect()
    const broken = once(open, 'error')
    await open.query('begin')
    await open.query("insert into kept values ('open')")
    const processes = await processesOf(server.url)
    expect(processes.length).toBeGreaterThan(4)
    await server.crash()
    await broken
    expect([processes.filter(isThere), await isUp(url)]).toEqual([[], false])
    await server.start()
    expect(await ask(url, 'select * from kept')).toEqual([{ value: 'committed' }])
    expect(server.log()).toContain('was interrupted')
  })

  test('that is stopped starts again on the same port', async () => {
    await server.stop()
    await server.stop()
    expect(await isUp(server.url)).toBe(false)
    await expect(server.crash()).rejects.toThrow('does not run')
    await server.start()
    expect([await isUp(server.url), server.log().includes('received fast shutdown request')]).toEqual([true, true])
  })

  test('that is suspended answers when it is resumed', async () => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const processes = await processesOf(server.url)
    await server.suspend()
    let answers = 0
    const answer = client.query('select 1').then(() => answers++)
    expect(processes.map(stateOf)).toEqual(processes.map(() => 'T'))
    expect(answers).toBe(0)
    server.resume()
    await answer
    expect(answers).toBe(1)
    await client.end()
  })

  test('tells why it does not start', async () => {
    await expect(startPostgres({ settings: { max_connections: 'many' } })).rejects.toMatchObject({
      type: 'launch',
      message: expect.stringContaining('invalid value for parameter "max_connections": "many"'),
    })
  })

  test('leaves nothing behind when it is removed, even after a crash or while it is suspended', async () => {
    const others = await Promise.all([startPostgres(), startPostgres()])
    const processes = (await Promise.all(others.map(({ url }) => processesOf(url)))).flat()
    const memories = others.map(memoryOf)
    expect(memories.map(hasMemory)).toEqual([true, true])
    await others[0]?.crash()
    await others[1]?.suspend()
    for (const other of [...others, ...others]) await other.remove()
    expect(processes.filter(isThere)).toEqual([])
    expect(others.map(({ root }) => existsSync(root))).toEqual([false, false])
    expect(memories.map(hasMemory)).toEqual([false, false])
    await expect(others[0]?.start()).rejects.toThrow('start a new one')
  })

  test('is gone when the process that started it is killed', async () => {
    const { child, ended, url, root } = await startFixture('interrupted-postgres')
    const processes = await processesOf(url)
    const memory = memoryOf({ root })
    child.kill('SIGKILL')
    await ended
    await expect
      .poll(() => [processes.filter(isThere), existsSync(root), hasMemory(memory)])
      .toEqual([[], false, false])
  })
})

describe.skipIf(!hasPostgres())(`the PostgreSQL server that tests share (${needsPostgres})`, () => {
  test('gives each an empty database of its own', async () => {
    const [one, other] = await Promise.all([
      sharedPostgres().then((server) => server.createDatabase()),
      sharedPostgres().then((server) => server.createDatabase()),
    ])
    await ask(one, 'create table own (value text)')
    expect(await ask(other, "select tablename from pg_tables where schemaname = 'public'")).toEqual([])
    expect(new URL(one).port).toBe(new URL(other).port)
  })
})

describe.skipIf(!hasPostgres())(`a PostgreSQL standby (${needsPostgres})`, () => {
  test('is synchronous or not, takes over the changes, and can be promoted', async () => {
    const primary = await startPostgres()
    const later = await startStandby(primary, { synchronous: false })
    const same = await startStandby(primary, { synchronous: true })
    try {
      const states = await ask(primary.url, 'select sync_state from pg_stat_replication order by 1')
      expect(states).toEqual([{ sync_state: 'async' }, { sync_state: 'sync' }])
      await ask(primary.url, 'create table taken (value text)')
      for (const { url } of [later, same])
        await expect.poll(() => ask(url, "select to_regclass('taken') is not null as there")).toEqual([{ there: true }])
      await expect(ask(same.url, "insert into taken values ('a')")).rejects.toMatchObject({ code: '25006' })

      // A commit waits for a synchronous standby, until it is back.
      await same.suspend()
      const commit = ask(primary.url, "insert into taken values ('b')")
      const waiting = "select count(*)::int as waiting from pg_stat_activity where wait_event = 'SyncRep'"
      await expect.poll(() => ask(primary.url, waiting)).toEqual([{ waiting: 1 }])
      same.resume()
      await commit

      await primary.crash()
      await same.promote()
      await ask(same.url, "insert into taken values ('c')")
      expect(await ask(same.url, 'select * from taken order by 1')).toEqual([{ value: 'b' }, { value: 'c' }])
    } finally {
      for (const server of [later, same, primary]) await server.remove()
    }
  })
})

/** The id of a server's shared memory, which it writes into a file beside its data. */
function memoryOf({ root }: Pick<PostgresServer, 'root'>): string {
  const line = readFileSync(`${root}/data/postmaster.pid`, 'utf8').split('\n')[6] ?? ''
  return line.trim().split(/\s+/)[1] ?? expect.fail('No shared memory.')
}

/** Whether Linux still has that shared memory. */
function hasMemory(id: string): boolean {
  return readFileSync('/proc/sysvipc/shm', 'utf8')
    .split('\n')
    .some((line) => line.trim().split(/\s+/)[1] === id)
}
