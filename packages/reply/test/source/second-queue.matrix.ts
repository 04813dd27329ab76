import { openCode2Version } from '@reply/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Reply, type ReplyStream, textOf } from '../../src/index.ts'
import { eventually, within } from '../drive/patience.ts'
import { openStage, type Stage } from '../drive/server.ts'

/** Prompts for a session of OpenCode 2 that is at work. */
describe(`OpenCode ${openCode2Version}`, () => {
  let stage: Stage

  beforeAll(async () => {
    stage = await openStage({ version: openCode2Version })
  })
  afterAll(async () => await stage.close())

  test('a queued prompt runs when the text is complete, in the same reply', async () => {
    const { opencode, model } = stage
    const first = opencode.prompt({ text: '[scenario:pause]' })
    const { sessionID } = await begun(first)
    const queued = opencode.prompt({ sessionID, text: '[scenario:plain]', delivery: 'queue' })
    await waits(sessionID, 1)
    model.release('pause')
    const reply = await settled(queued)
    expect([reply.outcome, textOf(reply), queued.joined]).toEqual(['completed', 'One two.\n\nHello there.', true])
    expect(await first.result).toBe(reply)
    expect(stage.errors).toEqual([])
  })

  test('an abort says which prompts stay, and the next prompt runs them', async () => {
    const { opencode } = stage
    const first = opencode.prompt({ text: '[scenario:forever]' })
    const { sessionID } = await begun(first)
    const queued = opencode.prompt({ sessionID, text: '[scenario:plain]', delivery: 'queue' })
    const [messageID = ''] = await waits(sessionID, 1)
    const aborted = await within(60_000, first.abort(), () => 'not aborted')
    expect(aborted).toMatchObject({ outcome: 'aborted', parkedPromptIDs: [messageID] })
    expect(await settled(queued)).toMatchObject({ outcome: 'aborted', parkedPromptIDs: [messageID] })
    const next = await settled(opencode.prompt({ sessionID, text: '[scenario:plain]' }))
    expect(next.outcome).toBe('completed')
    expect(next.promptIDs).toHaveLength(2)
    expect(next.promptIDs).toContain(messageID)
    await waits(sessionID, 0)
  })

  /** The prompts that the session keeps, once there are as many. */
  async function waits(sessionID: string, count: number): Promise<readonly string[]> {
    return await eventually(60_000, async () => {
      const { data } = await stage.ask<{ readonly data: readonly { readonly id: string }[] }>(
        `/api/session/${sessionID}/pending`,
      )
      return data.length === count ? data.map(({ id }) => id) : undefined
    })
  }
})

async function begun(stream: ReplyStream): Promise<Reply> {
  return await eventually(60_000, async () => (stream.reply && textOf(stream.reply) !== '' ? stream.reply : undefined))
}

async function settled(stream: ReplyStream): Promise<Reply> {
  return await within(60_000, stream.result, () => `it is ${stream.reply?.phase}`)
}
