import { expect, test } from 'vitest'
import { playDeskRuns } from './desk-runs.ts'

test('requests of runs that a second client began reach their chat, and are answered once at either side', async () => {
  expect(await playDeskRuns('OpenCode 1.18.33', 9)).toMatchObject({ faults: [], kills: 3 })
}, 300_000)
