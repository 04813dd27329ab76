import { processFaults } from './lives.ts'
import { recordKinds } from './play-scene.ts'
import { testFaults } from './scene-faults.ts'

// As in `lost-answers.full.ts`, but the process does not survive the commit, and another one goes on.
testFaults(await recordKinds(), processFaults, { most: 1 })
