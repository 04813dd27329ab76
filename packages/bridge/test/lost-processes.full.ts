import { describe, test } from 'vitest'
import { processFaults } from './lives.ts'
import { playScene, recordKinds } from './play-scene.ts'

// As in `lost-answers.full.ts`, but the process does not survive the commit, and another one goes on.
const kinds = await recordKinds()
describe.each(kinds.map(({ name, scene }) => [name, scene]))('a commit of %s in %s', (name = '', scene = '') => {
  test.each(Object.entries(processFaults))('that %s', async (_, fault) => {
    await playScene(scene, { target: name, fault })
  })
})
