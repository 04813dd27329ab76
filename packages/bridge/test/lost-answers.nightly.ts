import { storeFaults } from './lives.ts'
import { recordKinds } from './play-scene.ts'
import { testFaults } from './scene-faults.ts'

// `lost-answers.full.ts` has one of the faults for a third of the kinds of commits.
testFaults(await recordKinds(), storeFaults)
