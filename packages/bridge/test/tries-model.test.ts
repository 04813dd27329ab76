import { expect, test } from 'vitest'
import { playKillers, playMixture, playStorm } from './tries-model.ts'

// `tries-model.nightly.ts` plays thousands of seeds.
test.each([1, 2, 3, 4, 5, 6])('kills, suspensions and outages put no healthy row aside: seed %i', async (seed) => {
  await playStorm(seed)
})

test.each([1, 2, 3, 4])(
  'each killer is put aside, and no row beside it, while things are killed: seed %i',
  async (seed) => {
    await playMixture(seed)
  },
)

test.each([
  [0, 5],
  [400, 5],
  [600, 8],
  [5000, 11],
  [20_000, 13],
  [40_000, 16],
])(
  'a row that kills after %i ms is put aside after at most %i ends, with 40 healthy rows beside it',
  async (ms, most) => {
    const { kills, waitedMs } = await playKillers(ms, 1)
    expect(kills).toBeLessThanOrEqual(most)
    if (ms === 0) expect(waitedMs).toBeLessThan(5000)
  },
)
