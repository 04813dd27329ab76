import { describe, test } from 'vitest'
import { processFaults } from './lives.ts'
import { playScene, recordKinds } from './play-scene.ts'

// As in `lost-processes.full.ts`, but the bridges share the state: one that was suspended works on for a part of the chats.
const kinds = await recordKinds({ isShared: true })
describe.each(kinds.map(({ name, scene }) => [name, scene]))('a commit of %s in %s', (name = '', scene = '') => {
  test.each(Object.entries(processFaults))('that %s', async (_, fault) => {
    await playScene(scene, { target: name, fault, isShared: true })
  })
})
