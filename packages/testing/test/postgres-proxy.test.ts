import { once } from 'node:events'
import pg from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHandClock, until } from '../src/index.ts'
import { hasPostgres, needsPostgres, type PostgresProxy, sharedPostgres, startPostgresProxy } from '../src/internal.ts'

describe.skipIf(!hasPostgres())(`the proxy in front of PostgreSQL (${needsPostgres})`, () => {
  let target: string
  /** Connected to the server itself. */
  let direct: pg.Client
  let proxy: PostgresProxy
  let clients: pg.Client[] = []

  /** Connects to a URL. A connection that breaks is reported by its query. */
  const connect = async (url: string, more: pg.ClientConfig = {}): Promise<pg.Client> => {
    const client = new pg.Client({
      connectionString: url,
      application_name: url === target ? 'direct' : 'proxied',
      ...more,
    })
    client.on('error', () => {})
    clients.push(client)
    await client.connect()
    return client
  }
  /** The values in the table, read on the server itself. */
  const values = async (): Promise<readonly unknown[]> =>
    (await direct.query('select value from kept order by value')).rows.map(({ value }) => value)
  /** How many connections through the proxy the server has. */
  const sessions = async (): Promise<unknown> => {
    const { rows } = await direct.query(
      "select count(*)::int from pg_stat_activity where datname = current_database() and application_name = 'proxied'",
    )
    return rows[0].count
  }

  beforeAll(async () => {
    target = await (await sharedPostgres()).createDatabase()
  })
  beforeEach(async () => {
    direct = await connect(target)
    await direct.query('create table kept (value text)')
    proxy = await startPostgresProxy({ target })
  })
  afterEach(async () => {
    await proxy.close()
    await direct.query('drop table kept')
    for (const client of clients) await client.end()
    clients = []
  })

  test('changes nothing without a fault, and refuses encryption', async () => {
    const client = await connect(proxy.url)
    const long = 'ä'.repeat(500_000)
    const { rows } = await client.query('select $1::text as value', [long])
    expect(rows[0].value === long).toBe(true)
    await expect(client.query('select wrong')).rejects.toMatchObject({ code: '42703' })
    await client.query("insert into kept values ('a'); insert into kept values ('b')")
    const prepared = { name: 'read', text: 'select value from kept where value > $1' }
    expect((await client.query(prepared, ['a'])).rows).toEqual([{ value: 'b' }])
    expect((await client.query(prepared, [''])).rows).toHaveLength(2)
    await client.query('listen news')
    const news = once(client, 'notification')
    await direct.query("notify news, 'today'")
    expect((await news)[0]).toMatchObject({ payload: 'today' })
    await client.end()
    await expect.poll(sessions).toBe(0)
    await expect(connect(proxy.url, { ssl: true })).rejects.toThrow('does not support SSL')
  })

  test('loses the answer of a query that the server has run', async () => {
    const client = await connect(proxy.url)
    const other = await connect(proxy.url)
    const lost = proxy.loseNextAnswer((bytes) => bytes.includes('insert into kept'))
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    // Longer than what fits between them: the server sends most of it before it commits.
    const insert = client.query("insert into kept values ($1) returning repeat('x', 20000000)", ['a'])
    await expect(insert).rejects.toThrow(/ECONNRESET|terminated/)
    await lost
    expect(await values()).toEqual(['a'])
    await other.query("insert into kept values ('b')")
    expect(await values()).toEqual(['a', 'b'])
  })

  test('loses the answer of a commit', async () => {
    const client = await connect(proxy.url)
    const lost = proxy.loseNextAnswer((bytes) => bytes.includes('commit'))
    await client.query('begin')
    await client.query("insert into kept values ('a')")
    expect(await values()).toEqual([])
    await expect(client.query('commit')).rejects.toThrow(/ECONNRESET|terminated/)
    await lost
    expect(await values()).toEqual(['a'])
  })

  test.each([
    ['simple', []],
    ['prepared', ['$1']],
  ])('loses a %s query before the server gets it', async (_, parameters) => {
    const client = await connect(proxy.url)
    const lost = proxy.loseNextQuery((bytes) => bytes.includes('(value) values'))
    await client.query('begin')
    await client.query("insert into kept values ('a')")
    const insert = client.query(
      `insert into kept (value) values (${parameters[0] ?? "'b'"})`,
      parameters.map(() => 'b'),
    )
    await expect(insert).rejects.toThrow(/ECONNRESET|terminated/)
    await lost
    await expect.poll(sessions).toBe(0)
    expect(await values()).toEqual([])
  })

  test.each(['refuse', 'silent'] as const)('holds back everything during an interruption: %s', async (newOnes) => {
    const client = await connect(proxy.url)
    const leaving = await connect(proxy.url)
    await proxy.cutOff(newOnes)
    const insert = client.query("insert into kept values ('a')")
    const left = leaving.end()
    const fresh = connect(proxy.url).then(
      (connected) => connected.query("insert into kept values ('b')"),
      (error) => error,
    )
    if (newOnes === 'refuse') expect(await fresh).toMatchObject({ code: 'ECONNREFUSED' })
    // Longer than a connection through the proxy takes.
    await (await connect(target)).end()
    expect([await values(), await sessions()]).toEqual([[], 2])
    await proxy.restore()
    await Promise.all([insert, left, fresh])
    expect(await values()).toEqual(newOnes === 'refuse' ? ['a'] : ['a', 'b'])
    await (await connect(proxy.url)).end()
    await expect.poll(sessions).toBe(newOnes === 'refuse' ? 1 : 2)
  })

  test('breaks connections, and what was held back is lost', async () => {
    const client = await connect(proxy.url)
    await proxy.cutOff('silent')
    const insert = client.query("insert into kept values ('a')")
    // Longer than a query through the proxy takes.
    await (await connect(target)).end()
    proxy.breakConnections()
    await expect(insert).rejects.toThrow(/ECONNRESET|terminated/)
    await expect.poll(sessions).toBe(0)
    await proxy.restore()
    await (await connect(proxy.url)).query("insert into kept values ('b')")
    expect(await values()).toEqual(['b'])
  })

  test('breaks the connection of a client while the server is down', async () => {
    const down = await startPostgresProxy({ target: proxy.url })
    await proxy.cutOff('refuse')
    await expect(connect(down.url)).rejects.toThrow(/ECONNRESET|terminated/)
    await down.close()
  })

  test('delays each direction', async () => {
    const clock = createHandClock()
    const slow = await startPostgresProxy({ target, clock })
    const client = await connect(slow.url)
    slow.delay({ toServerMs: 50 })
    const insert = client.query("insert into kept values ('a')")
    await until(() => clock.pending === 1)
    await clock.advance(49)
    await (await connect(target)).end()
    expect(await values()).toEqual([])
    await clock.advance(1)
    await insert
    expect(await values()).toEqual(['a'])

    slow.delay({ toClientMs: 50 })
    let isAnswered = false
    const other = client.query("insert into kept values ('b')").then(() => {
      isAnswered = true
    })
    await until(() => clock.pending === 1)
    expect([await values(), isAnswered]).toEqual([['a', 'b'], false])
    await clock.advance(50)
    await other
    await slow.close()
  })
})
