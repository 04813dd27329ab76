import { textOf } from '@reply/core'
import { expect, test } from 'vitest'
import { launchGemini } from './gemini-stage.ts'
import { play } from './play.ts'
import { geminiScenes } from './scenes.ts'

const outcomes = {
  text: ['completed', 'Hello from Gemini CLI.'],
  'permission-allowed': ['completed', 'I will run it.\n\nIt ran.'],
  'permission-rejected': ['completed', 'I will run it.\n\nThen not.'],
  tool: ['completed', 'I looked.'],
  error: ['failed', ''],
  abort: ['aborted', 'This answer will never come to its end, because'],
}

test.each(Object.entries(outcomes))('a live Gemini CLI plays %s', async (name, [outcome, words]) => {
  const scene = geminiScenes.find((one) => one.name === name)
  if (!scene) throw new Error(`There is no scene ${name}.`)
  const stage = await launchGemini(scene.scenario)
  try {
    const reply = await play(stage.client, scene)
    expect([reply.outcome, textOf(reply)]).toEqual([outcome, words])
  } finally {
    await stage.close()
  }
})
