import { expect, test } from 'vitest'
import { deskless, deskSources, playDeskRuns } from './desk-runs.ts'

const each = 60 / Object.keys(deskSources).length

test.each(Object.keys(deskSources))(
  'requests of runs that a second client of %s began reach their chat within 2 s, and are answered once',
  async (source) => {
    const { faults, kills, shownMs, copies, doubtful } = await playDeskRuns(source, each, true)
    const sorted = shownMs.map(Math.round).toSorted((a, b) => a - b)
    const [median, worst] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
    console.log(`${source}: shown after ${median} ms, at most ${worst}. ${copies} copies of ${doubtful} in doubt`)
    expect({ faults, kills }).toEqual({ faults: [], kills: each / 3 })
    expect(worst).toBeLessThanOrEqual(2000)
  },
  900_000,
)

for (const [source, reason] of Object.entries(deskless)) test.skip(`${source}: ${reason}`, () => {})
