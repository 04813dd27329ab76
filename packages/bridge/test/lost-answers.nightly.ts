import { storeFaults } from './lives.ts'
import { recordKinds } from './play-scene.ts'
import { testFaults } from './scene-faults.ts'

// `lost-answers.full.ts` has one of the faults for each kind of commit.
testFaults(await recordKinds(), storeFaults)
