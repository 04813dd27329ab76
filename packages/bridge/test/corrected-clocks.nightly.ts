import { existsSync } from 'node:fs'
import { describe, test } from 'vitest'
import { libfaketime, minutes, playCorrection } from './corrected-clocks.ts'

describe.skipIf(!existsSync(libfaketime))(
  'after a correction by ten minutes, live messages are no backlog and commands are carried out (needs libfaketime)',
  () => {
    test("the server's clock was ahead", async () => await playCorrection(0, 10 * minutes))
    test("the server's clock was behind", async () => await playCorrection(0, -10 * minutes))
  },
)
