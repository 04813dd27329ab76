import { expect, test } from 'vitest'
import { deskless, deskSources, playDeskRuns } from './desk-runs.ts'

const each = 60 / Object.keys(deskSources).length

test.each(Object.keys(deskSources))(
  'requests of runs that a second client of %s began are answered once',
  async (source) => {
    const { faults, kills, shownMs } = await playDeskRuns(source, each)
    console.log(
      source,
      'shown after',
      shownMs
        .map(Math.round)
        .toSorted((a, b) => a - b)
        .join(' '),
      'ms',
    )
    expect({ faults, kills }).toEqual({ faults: [], kills: each / 3 })
  },
  900_000,
)

for (const [source, reason] of Object.entries(deskless)) test.skip(`${source}: ${reason}`, () => {})
