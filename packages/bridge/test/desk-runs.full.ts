import { expect, test } from 'vitest'
import { playDeskRuns } from './desk-runs.ts'

// `desk-runs.nightly.ts` has the other sources, and more kills.
test('requests of runs that a second client of OpenCode began reach their chat on each platform, and are answered once at either side', {
  timeout: 300_000,
}, async () => {
  const { runs, faults } = await playDeskRuns('OpenCode 1.18.33', 6)
  expect({ faults, kills: runs.filter(({ kind }) => kind !== 'calm').length }).toEqual({ faults: [], kills: 2 })
})
