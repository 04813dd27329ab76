import { expect, test } from 'vitest'
import { type DeskRun, deskless, deskSources, playDeskRuns } from './desk-runs.ts'
import { platformNames } from './platforms.ts'

const sources = Object.keys(deskSources)
const each = 60 / sources.length

// Each source begins with another platform, so that the bridge is killed at each of them in each way.
test.each([...sources.entries()])(
  'requests of runs that a second client began reach their chat within 2 s, and are answered once: %i, %s',
  async (first, source) => {
    const { runs, faults, copies, doubtful } = await playDeskRuns(source, each, { isTimed: true, first })
    const killed = runs.filter(({ kind }) => kind === 'killed before')
    const report = [
      `shown after ${timesOf(runs.filter((run) => !killed.includes(run)))}`,
      `after ${timesOf(killed)} of a bridge that was killed before`,
      ...platformNames.map((name) => `${name} ${timesOf(runs.filter(({ platform }) => platform === name))}`),
      `${copies} copies of ${doubtful} in doubt`,
    ]
    console.log(`${source}: ${report.join('. ')}`)
    const kills = runs.filter(({ kind }) => kind !== 'calm').length
    const late = runs.filter(({ shownMs }) => shownMs > 2000)
    expect({ faults, late, runs: runs.length, kills }).toEqual({ faults: [], late: [], runs: each, kills: each / 3 })
  },
  900_000,
)

for (const [source, reason] of Object.entries(deskless)) test.skip(`${source}: ${reason}`, () => {})

/** In words: how many, and the median and the longest of how long they took to be shown. */
function timesOf(runs: readonly DeskRun[]): string {
  const sorted = runs.map(({ shownMs }) => Math.round(shownMs)).toSorted((a, b) => a - b)
  return `${sorted[Math.floor(sorted.length / 2)]} ms, at most ${sorted.at(-1)} (${sorted.length})`
}
