import { processFaults } from './lives.ts'
import { recordKinds } from './play-scene.ts'
import { testFaults } from './scene-faults.ts'

// As in `lost-answers.full.ts`, but the process does not survive the commit, and another one goes on. A third of the kinds of commits:
// `lost-processes.nightly.ts` has all.
const kinds = await recordKinds()
testFaults(
  kinds.filter((_, index) => index % 3 === 0),
  processFaults,
  { most: 1 },
)
