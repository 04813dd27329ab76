import { expect, test } from 'vitest'
import { playDeskRuns } from './desk-runs.ts'

test.each(['OpenCode 1.18.33', 'codex app-server'])(
  'requests of runs that a second client of %s began reach their chat on each platform, and are answered once at either side',
  async (source) => {
    const { runs, faults } = await playDeskRuns(source, 9)
    expect({ faults, kills: runs.filter(({ kind }) => kind !== 'calm').length }).toEqual({ faults: [], kills: 3 })
  },
  300_000,
)
