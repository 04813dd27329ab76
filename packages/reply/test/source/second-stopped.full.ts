import { openCode2Version } from '@reply/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, within } from '../drive/patience.ts'
import { openStage, type Stage } from '../drive/server.ts'
import { allowAfterStop, firstAsk, post } from './second-approvals.ts'

describe(`what Stop leaves on OpenCode ${openCode2Version}`, () => {
  let stage: Stage

  beforeAll(async () => {
    stage = await openStage({ version: openCode2Version })
  })
  afterAll(async () => await stage.close())

  test('a prompt that waits in the session of a sub-agent stays, and the reply says so', async () => {
    const { opencode } = stage
    const stream = opencode.prompt({ text: '[scenario:child]' })
    const { sessionID: childID } = await firstAsk(stream)
    const status = await post(stage, `/api/session/${childID}/prompt`, { text: '[scenario:plain]', delivery: 'queue' })
    const [messageID = ''] = await eventually(60_000, async () => {
      const ids = await waiting(childID)
      return ids.length === 1 ? ids : undefined
    })
    const aborted = await within(60_000, stream.abort(), () => `it is ${stream.reply?.phase}`)
    expect([status, aborted.outcome, aborted.parkedPromptIDs]).toEqual([200, 'aborted', [messageID]])
    const next = await opencode.prompt({ sessionID: aborted.sessionID, text: '[scenario:plain]' }).result
    expect([next.outcome, next.promptIDs.length, next.children]).toEqual(['completed', 1, []])
    expect(await waiting(childID)).toEqual([messageID])
    expect(stage.errors).toEqual([])
  })

  test('of 10 commands that are allowed within 50 ms after Stop none runs', async () => {
    expect(await allowAfterStop(stage, 10)).toEqual([])
  })

  async function waiting(sessionID: string): Promise<readonly string[]> {
    const route = `/api/session/${sessionID}/pending`
    const { data } = await stage.ask<{ readonly data: readonly { readonly id: string }[] }>(route)
    return data.map(({ id }) => id)
  }
})
