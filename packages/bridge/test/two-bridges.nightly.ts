import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { faultsOf, playTwoBridges } from './two-bridges.ts'

const seed = firstSeed('REPLY_KILL_SEED')

describe('two bridges on one state in SQLite, whose owner is', { concurrent: true }, () => {
  test.each(faultsOf.sqlite)(
    '%s: no final is missing, and none is shown twice',
    async (fault) => expect((await playTwoBridges({ engine: 'sqlite', fault, rounds: 25, seed })).wrong).toEqual([]),
    3_600_000,
  )
})

// `npm run test:failover` has more rounds.
describe.skipIf(!hasPostgres())(
  `two bridges on one state in PostgreSQL (${needsPostgres})`,
  { concurrent: true },
  () => {
    test.each(faultsOf.postgres)(
      '%s: no final is missing, and none is shown twice',
      async (fault) => expect((await playTwoBridges({ engine: 'postgres', fault, rounds: 5, seed })).wrong).toEqual([]),
      3_600_000,
    )
  },
)
