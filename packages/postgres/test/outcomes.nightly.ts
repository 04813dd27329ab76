import { hasPostgres, needsPostgres, type PostgresServer, startPostgres } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { playOutcomes } from './outcomes.ts'

const first = firstSeed('REPLY_POSTGRES_SEED')
const plans = Number(process.env.REPLY_POSTGRES_PLANS ?? 20)

describe.skipIf(!hasPostgres())(`what callers are told (${needsPostgres})`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(async () => await server.remove())

  test.each(Array.from({ length: plans }, (_, index) => first + index))(
    'is what PostgreSQL has, with networks and servers that fail (seed %d)',
    async (seed) => {
      const { wrong, outcomes } = await playOutcomes({ url: server.url, server, seed, faults: 30 })
      console.log(seed, outcomes)
      expect(wrong).toEqual([])
    },
    600_000,
  )
})
