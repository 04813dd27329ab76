import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { faultsOf, playTwoBridges } from './two-bridges.ts'

describe('two bridges on one state in SQLite, whose owner is', { concurrent: true }, () => {
  test.each(faultsOf.sqlite)(
    '%s: no final is missing, and none is shown twice',
    async (fault) => expect((await playTwoBridges({ engine: 'sqlite', fault, rounds: 1, seed: 1 })).wrong).toEqual([]),
    900_000,
  )
})

describe.skipIf(!hasPostgres())(
  `two bridges on one state in PostgreSQL (${needsPostgres})`,
  { concurrent: true },
  () => {
    test.each(faultsOf.postgres)(
      '%s: no final is missing, and none is shown twice',
      async (fault) =>
        expect((await playTwoBridges({ engine: 'postgres', fault, rounds: 1, seed: 1 })).wrong).toEqual([]),
      900_000,
    )
  },
)
