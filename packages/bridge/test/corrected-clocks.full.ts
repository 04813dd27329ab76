import { describe, test } from 'vitest'
import { minutes, playCorrection } from './corrected-clocks.ts'

// `corrected-clocks.nightly.ts` has the same on the side of the server.
describe('after a correction by ten minutes, live messages are no backlog and commands are carried out', () => {
  test("the bridge's clock was ahead", async () => await playCorrection(10 * minutes, 0))
  test("the bridge's clock was behind", async () => await playCorrection(-10 * minutes, 0))
})
