import { expect, test } from 'vitest'
import { content, type SendingAgent } from './agents.ts'
import { expectedOf, outlineOf } from './expected.ts'

/** Lets real agents send files. */
export function testSendFile(agents: readonly SendingAgent[]): void {
  test.each(agents)('$recording: files that the agent sends are attached to their calls', async (agent) => {
    const { reply, urls, sent } = await agent.play()
    expect(outlineOf(reply)).toMatchObject(expectedOf(urls, agent))
    expect(sent).not.toMatch(new RegExp(`${content}|${Buffer.from(content).toString('base64')}`))
  })
}
