import { expect, test } from 'vitest'
import { playDeskRuns } from './desk-runs.ts'

test('requests of runs that a second client began reach their chat on each platform, and are answered once at either side', async () => {
  const { runs, faults } = await playDeskRuns('OpenCode 1.18.33', 9)
  expect({ faults, kills: runs.filter(({ kind }) => kind !== 'calm').length }).toEqual({ faults: [], kills: 3 })
}, 300_000)
