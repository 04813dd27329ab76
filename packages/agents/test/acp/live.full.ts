import { textOf, toolsOf } from '@reply/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch, type Stage } from './launch.ts'
import { play } from './play.ts'
import { scenes } from './scenes.ts'

let stage: Stage

beforeAll(async () => {
  stage = await launch({ scenario: ['permission-edit', 'question', 'subagent-permission'], preset: true })
})

afterAll(async () => await stage.close())

async function settled(name: string) {
  const scene = scenes.find((one) => one.name === name)
  if (!scene) throw new Error(`There is no scene ${name}.`)
  return await play(stage.client, scene)
}

test('a live OpenCode asks before it edits, and writes through this program', async () => {
  const reply = await settled('permission-edit')
  expect(reply).toMatchObject({ outcome: 'completed', asks: [{ status: 'answered', reply: 'once' }] })
  expect(toolsOf(reply).map(({ state }) => state.status)).toEqual(['completed', 'completed'])
})

test("a live OpenCode's question is asked and answered over its own server", async () => {
  const reply = await settled('question')
  expect(reply).toMatchObject({
    outcome: 'completed',
    asks: [{ type: 'question', status: 'answered', answers: [['Blue']], questions: [{ header: 'Colour' }] }],
  })
  expect(textOf(reply)).toContain('Blue it is.')
})

test("a live sub-agent is shown with its call and text, and its permission blocks the root's reply", async () => {
  const reply = await settled('subagent-permission')
  expect(reply).toMatchObject({
    outcome: 'completed',
    asks: [{ type: 'permission', status: 'answered', call: { tool: 'bash', input: { command: 'echo child' } } }],
  })
  const [child] = reply.children
  expect(child).toMatchObject({ callID: toolsOf(reply)[0]?.callID, agent: 'general', reply: { outcome: 'completed' } })
  expect([child && textOf(child.reply), child && toolsOf(child.reply)[0]?.state.output]).toEqual([
    expect.stringContaining('I was allowed.'),
    'child\n',
  ])
  expect(reply.asks[0]?.path).toEqual([reply.sessionID, child?.reply.sessionID])
})
