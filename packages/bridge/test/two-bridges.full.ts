import { describe, expect, test } from 'vitest'
import { playTwoBridges } from './two-bridges.ts'

describe('two bridges on one state, whose owner is', { concurrent: true }, () => {
  test.each(['killed', 'stopped', 'stopped-in-call', 'cut-off'] as const)(
    '%s: no final is missing, and none is shown twice',
    async (fault) => expect(await playTwoBridges(fault, 3, 1)).toEqual([]),
    900_000,
  )
})
