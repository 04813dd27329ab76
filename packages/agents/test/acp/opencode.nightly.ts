import { expect, test } from 'vitest'
import { launch } from './launch.ts'
import { play } from './play.ts'

test("an abort while a live sub-agent's permission is pending ends both runs, and the next prompt is answered", async () => {
  const stage = await launch({ scenario: ['subagent-permission', 'plain'], preset: true })
  try {
    const reply = await play(stage.client, { name: 'abort-permission', scenario: 'subagent-permission' })
    expect(reply).toMatchObject({ outcome: 'aborted', asks: [{ status: 'rejected' }] })
    expect(reply.children.map((child) => child.reply.outcome)).toEqual(['aborted'])
    const next = await play(stage.client, { name: 'text', scenario: 'plain' })
    expect(next.outcome).toBe('completed')
  } finally {
    await stage.close()
  }
})
