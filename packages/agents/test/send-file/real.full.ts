import { expect, test } from 'vitest'
import { content, sendingAgents } from './agents.ts'
import { expectedOf, outlineOf } from './expected.ts'

test.each(sendingAgents)('$recording: files that the agent sends are attached to their calls', async (agent) => {
  const { reply, urls, sent } = await agent.play()
  expect(outlineOf(reply)).toMatchObject(expectedOf(urls, agent))
  expect(sent).not.toMatch(new RegExp(`${content}|${Buffer.from(content).toString('base64')}`))
})
