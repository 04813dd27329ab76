import { storeContract } from '@reply/bridge/testing'
import { hasPostgres, needsPostgres, type PostgresServer, startPostgres } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { playOutcomes } from './outcomes.ts'
import { hasPooler, startPooler } from './pgbouncer.ts'
import { connected, stageOn } from './stage.ts'

const seed = firstSeed('REPLY_POSTGRES_SEED')

describe.skipIf(!hasPostgres() || !hasPooler())(
  `the PostgreSQL store behind PgBouncer in transaction mode (${needsPostgres}, and apt install pgbouncer)`,
  () => {
    let server: PostgresServer
    let url = ''
    let stop = async (): Promise<void> => {}
    beforeAll(async () => {
      server = await startPostgres()
      const started = await startPooler(server)
      url = started.url
      stop = started.stop
    })
    afterAll(async () => {
      await stop()
      await server.remove()
    })

    test('is in transaction mode', async () => {
      const client = await connected(url.replace(/[^/]+$/, 'pgbouncer'))
      const { rows } = await client.query<{ key: string; value: string }>('SHOW CONFIG')
      await client.end()
      expect(rows.find(({ key }) => key === 'pool_mode')?.value).toBe('transaction')
    })

    const clauses = storeContract({ name: 'it', setup: () => stageOn(server, url) })
    test.each(clauses.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => await run())

    test.each([0, 1, 2])(
      'tells callers what PostgreSQL has, with networks and servers that fail (plan %d)',
      async (plan) => {
        const { wrong, outcomes } = await playOutcomes({ url, server, seed: seed + plan, faults: 30 })
        console.log(seed + plan, outcomes)
        expect(wrong).toEqual([])
      },
      600_000,
    )
  },
)
