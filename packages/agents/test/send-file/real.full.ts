import { expect, test } from 'vitest'
import { content, sendingAgents } from './agents.ts'
import { expectedOf, outlineOf } from './expected.ts'

test.each(sendingAgents)('$recording: files that the agent sends are attached to their calls', async ({ play }) => {
  const { reply, urls, sent } = await play()
  expect(outlineOf(reply)).toMatchObject(expectedOf(urls))
  expect(sent).not.toMatch(new RegExp(`${content}|${Buffer.from(content).toString('base64')}`))
})
