import { expect, test } from 'vitest'
import { blows, playFileRuns } from './file-runs.ts'

// Five runs, one on each platform. `file-runs.nightly.ts` has the other blows, too.
test('files of agents reach all platforms once, though the bridge is killed', { timeout: 400_000 }, async () => {
  const blow = 'bridge killed'
  expect(await playFileRuns({ seed: blows.indexOf(blow), blow, chats: 1 })).toMatchObject({ lost: 0, wrong: [] })
})
