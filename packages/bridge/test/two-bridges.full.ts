import { describe, expect, test } from 'vitest'
import { playTwoBridges } from './two-bridges.ts'

// `cut-off` is in the nightly run alone: on a very busy machine, a run that ends while another process takes over is now and
// then shown twice, because its last events come after it was read as ended.
describe('two bridges on one state, whose owner is', { concurrent: true }, () => {
  test.each(['killed', 'stopped', 'stopped-in-call'] as const)(
    '%s: no final is missing, and none is shown twice',
    async (fault) => expect(await playTwoBridges(fault, 3, 1)).toEqual([]),
    900_000,
  )
})
