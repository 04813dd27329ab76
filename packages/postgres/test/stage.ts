import type { Store, StoreLease } from '@reply/bridge'
import type { StoreNetwork, StoreStage } from '@reply/bridge/testing'
import { type PostgresServer, startPostgresProxy } from '@reply/testing/internal'
import pg from 'pg'
import { postgresStore } from '../src/index.ts'

let schemas = 0

/**
 * A state in a schema of its own, with a name that needs quotes. Only `pass` advances its clock. After a crash, a server
 * syncs every file of its databases, so all states are in one. `storeUrl` is that of a pooler in front of the server.
 */
export async function stageOn(server: PostgresServer, storeUrl = server.url): Promise<StoreStage> {
  const { url } = server
  const schema = `State "${schemas++}"`
  const quoted = `"${schema.replaceAll('"', '""')}"`
  const closes: (() => Promise<void>)[] = []
  const realNow = Date.now
  const open = async (at = storeUrl): Promise<Store> => {
    // A pooler may not pass on what a server notifies.
    const store = await postgresStore({ url: at, schema, listenUrl: at === url ? undefined : url })
    closes.unshift(() => store.close())
    return store
  }
  await (await open()).close()
  await onDatabase(url, async (client) => {
    await client.query(`CREATE TABLE ${quoted}.hand_clock AS SELECT clock_timestamp() AS at`)
    const body = `$$ SELECT at FROM ${quoted}.hand_clock $$`
    await client.query(
      `CREATE OR REPLACE FUNCTION ${quoted}.store_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS ${body}`,
    )
  })
  return {
    open: () => open(),
    pass: (ms) =>
      onDatabase(url, async (client) => {
        await client.query(`UPDATE ${quoted}.hand_clock SET at = at + $1 * interval '1 ms'`, [ms])
      }),
    crash: async () => {
      await server.crash()
      await server.start()
    },
    openOverNetwork: async () => {
      const proxy = await startPostgresProxy({ target: storeUrl })
      closes.unshift(() => proxy.close())
      const network: StoreNetwork = {
        loseCommit: (text) => void proxy.loseNextQuery((bytes) => bytes.includes(text)),
        loseAnswer: (text) => void proxy.loseNextAnswer((bytes) => bytes.includes(text)),
        cutOff: () => proxy.cutOff('refuse'),
        restore: () => proxy.restore(),
        delay: (ms) => proxy.delay({ toServerMs: ms, toClientMs: ms }),
      }
      return { store: await open(proxy.url), network }
    },
    skew: (ms) => {
      Date.now = () => realNow() + ms
    },
    close: async () => {
      Date.now = realNow
      for (const close of closes) await close()
    },
  }
}

/**
 * Beats as a member that wants one lease, and resolves with that lease, taken or renewed. Undefined while another member holds
 * it.
 */
export async function beatForLease(
  store: Store,
  member: string,
  { name = 'bridge', forMs = 1000 }: { readonly name?: string; readonly forMs?: number } = {},
): Promise<StoreLease | undefined> {
  const beat = await store.beat({ member, forMs, layout: '1', wants: { group: [name] }, budgets: {} })
  return beat.type === 'admitted' ? beat.leases.find((lease) => lease.name === name) : undefined
}

/** Runs statements on a connection of its own. */
export async function onDatabase(url: string, run: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = await connected(url)
  try {
    await run(client)
  } finally {
    await client.end()
  }
}

/** Resolves with a connection, which ends silently with its server. */
export async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  return client
}
