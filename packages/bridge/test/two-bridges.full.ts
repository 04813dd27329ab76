import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { describe, test } from 'vitest'
import { type Engine, type Fault, playTwoBridges } from './two-bridges.ts'

// `two-bridges.nightly.ts` has all faults on both engines.

test.concurrent(
  'two bridges on one state in SQLite, whose owner is stopped in a call: no final is missing or shown twice',
  {
    timeout: 900_000,
  },
  async ({ expect }) => expect(await wrongAfter('sqlite', 'stopped-in-call')).toEqual([]),
)

describe.skipIf(!hasPostgres())(`in PostgreSQL (${needsPostgres})`, () => {
  test.concurrent(
    'two bridges on one state, whose owner is killed: no final is missing or shown twice',
    {
      timeout: 900_000,
    },
    async ({ expect }) => expect(await wrongAfter('postgres', 'killed')).toEqual([]),
  )
})

async function wrongAfter(engine: Engine, fault: Fault): Promise<readonly string[]> {
  return (await playTwoBridges({ engine, fault, rounds: 1, seed: 1 })).wrong
}
