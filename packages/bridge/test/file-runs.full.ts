import { test } from 'vitest'
import { blows, playFileRuns } from './file-runs.ts'

// Each stage has five runs, one on each platform.
test.concurrent.for(['bridge killed', 'server restarted'] as const)(
  'files of agents reach all platforms once, %s',
  { timeout: 400_000 },
  async (blow, { expect }) => {
    expect(await playFileRuns({ seed: blows.indexOf(blow), blow, chats: 1 })).toMatchObject({ lost: 0, wrong: [] })
  },
)
