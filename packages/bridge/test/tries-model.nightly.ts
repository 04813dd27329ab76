import { expect, test } from 'vitest'
import { playKillers, playMixture, playStorm } from './tries-model.ts'

test('kills, suspensions and outages of hours put no healthy row aside in 3,000 seeds', async () => {
  for (let seed = 100; seed < 3100; seed++) await playStorm(seed)
}, 600_000)

test('each killer is put aside, and no row beside it, in 2,000 seeds', async () => {
  const most: number[] = []
  for (let seed = 100; seed < 2100; seed++) most.push(await playMixture(seed))
}, 900_000)

// It prints the table of docs/operation.md#a-message-that-ends-the-process. The model begins with the second process.
test('a row that kills is put aside after few ends, with 40 healthy rows beside it, in 50 seeds each', async () => {
  const printed: object[] = []
  for (const [ms, most] of [
    [0, 5],
    [400, 5],
    // At the limits of levels, sometimes sooner and sometimes later, so it takes more.
    [500, 20],
    [600, 8],
    [1000, 20],
    [2000, 20],
    [5000, 11],
    [20_000, 16],
    [40_000, 20],
  ] as const) {
    const ends: number[] = []
    for (let seed = 0; seed < 50; seed++) {
      const { kills } = await playKillers(ms, seed)
      expect(kills, `${ms} ms, seed ${seed}`).toBeLessThanOrEqual(most)
      ends.push(kills + 1)
    }
    const mean = ends.reduce((sum, count) => sum + count, 0) / ends.length
    printed.push({ 'ends the process after (ms)': ms, 'ends, mean': mean.toFixed(1), 'ends, most': Math.max(...ends) })
  }
  console.table(printed)
}, 600_000)
