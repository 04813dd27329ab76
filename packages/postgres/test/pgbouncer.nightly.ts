import { storeContract } from '@reply/bridge/testing'
import { hasPostgres, needsPostgres, type PostgresServer, startPostgres } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { postgresStore } from '../src/index.ts'
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

    test('does not pass on notifications, so the store looks often, unless it listens at the server itself', async () => {
      const notices: string[] = []
      const behind = await postgresStore({ url, onNotice: (notice) => notices.push(notice) })
      const direct = await postgresStore({ url, listenUrl: server.url })
      const [often, hints]: [string[], string[]] = [[], []]
      behind.watch((hint) => often.push(hint))
      direct.watch((hint) => hints.push(hint))
      await vi.waitFor(() => expect(often.length).toBeGreaterThan(2), { timeout: 10_000 })
      await vi.waitFor(async () => {
        await behind.commit([], undefined, { hint: 'inbox/07' })
        expect(hints).toContain('inbox/07')
      })
      expect([notices.length, new Set(often)]).toEqual([1, new Set([''])])
      await behind.close()
      await direct.close()
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
