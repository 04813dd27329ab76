import { processFaults } from './lives.ts'
import { recordKinds } from './play-scene.ts'
import { testFaults } from './scene-faults.ts'

// As in `lost-processes.nightly.ts`, but the bridges share the state: one that was suspended works on for a part of the chats.
testFaults(await recordKinds({ isShared: true }), processFaults, { isShared: true })
