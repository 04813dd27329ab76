import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { newestAgents } from './agents.ts'
import { type Played, playAgent } from './play.ts'
import { tableIn } from './table.ts'

const { scenes, rows } = tableIn(readFileSync(new URL('../../../../docs/agents.md', import.meta.url), 'utf8'))
const deadlines = { sceneMs: 60_000, agentMs: 900_000 }

describe.each(rows)('the version of the recordings of $agent', ({ agent: name, failing, broken, notOffered }) => {
  const out = [...failing, ...broken, ...notOffered.map(([scene]) => scene)]
  const held = scenes.filter((scene) => !out.includes(scene))
  let played: Played
  beforeAll(async () => {
    const agent = newestAgents.find((each) => each.name === name)
    if (!agent) throw new Error(`No agent is named ${name}. Remove its row.`)
    played = await playAgent(agent, undefined, deadlines, held)
  }, 1_000_000)

  test.each(held)('plays, as the newest one does: %s', (scene) => {
    expect(played.scenes.find((result) => result.name === scene)).toEqual({ name: scene, outcome: 'holds' })
  })
})
