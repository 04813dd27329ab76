import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { newestAgents } from './agents.ts'
import { playAgent } from './play.ts'
import { tableIn } from './table.ts'

const { scenes, rows } = tableIn(readFileSync(new URL('../../../../docs/agents.md', import.meta.url), 'utf8'))
const deadlines = { sceneMs: 60_000, agentMs: 600_000 }

describe.each(rows)('the version of the recordings of $agent', ({ agent: name, failing, broken, notOffered }) => {
  const out = [...failing, ...broken, ...notOffered.map(([scene]) => scene)]

  test.each(scenes.filter((scene) => !out.includes(scene)))('plays, as the newest one does: %s', async (scene) => {
    const agent = newestAgents.find((each) => each.name === name)
    if (!agent) throw new Error(`No agent is named ${name}. Remove its row.`)
    const { scenes: results } = await playAgent(agent, undefined, deadlines, [scene])
    expect(results).toEqual([{ name: scene, outcome: 'holds' }])
  })
})
