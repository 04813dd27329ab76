import { describe, expect, test } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { playTwoBridges } from './two-bridges.ts'

const seed = firstSeed('REPLY_KILL_SEED')

describe('two bridges on one state, whose owner is', { concurrent: true }, () => {
  test.each(['killed', 'stopped', 'stopped-in-call', 'cut-off'] as const)(
    '%s: no final is missing, and none is shown twice',
    async (fault) => expect(await playTwoBridges(fault, 25, seed)).toEqual([]),
    3_600_000,
  )
})
