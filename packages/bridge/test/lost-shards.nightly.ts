import { processFaults } from './lives.ts'
import { recordAllKinds } from './play-scene.ts'
import { testFaults } from './scene-faults.ts'

// As in `lost-processes.nightly.ts`, but the bridges share the state: one that was suspended works on for a part of the chats. And
// in each scene that makes such a commit, because more than the commit depends on when another process takes over.
testFaults(await recordAllKinds({ isShared: true }), processFaults, { isShared: true })
