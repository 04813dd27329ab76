import { openCode2Version } from '@reply/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Reply, type ReplyStream, textOf } from '../../src/index.ts'
import { eventually, within } from '../drive/patience.ts'
import { openStage, type Stage } from '../drive/server.ts'

/** A managed service resumes by itself what a stop interrupted, and may be through before any client is back. */
describe(`OpenCode ${openCode2Version} as a service`, () => {
  let stage: Stage

  beforeAll(async () => {
    stage = await openStage({
      version: openCode2Version,
      service: true,
      connect: { backOff: { minMs: 20, maxMs: 100 }, deadlineMs: 5000 },
    })
  })
  afterAll(async () => await stage.close())

  test('a run that it resumes goes on in the same reply', async () => {
    const stream = stage.opencode.prompt({ text: '[scenario:resumed]' })
    await until(stream, (reply) => textOf(reply) !== '')
    await stage.server.restart()
    // The service asks the model again, for the whole answer.
    stage.model.release('resumed')
    const reply = await settled(stream)
    expect([reply.outcome, textOf(reply), reply.promptIDs.length]).toEqual([
      'completed',
      'This is cut off, \n\nThis is cut off, then whole.',
      1,
    ])
  })

  test('a run whose permission was asked before goes on without it', async () => {
    const stream = stage.opencode.prompt({ text: '[scenario:permission]' })
    await until(stream, (reply) => reply.asks.length > 0)
    await stage.server.restart()
    const reply = await settled(stream)
    expect([reply.outcome, reply.asks.map(({ status }) => status), textOf(reply)]).toEqual([
      'completed',
      ['withdrawn'],
      'Done so.',
    ])
  })

  test('a run is lost if the service was killed, and the next prompt runs', async () => {
    const stream = stage.opencode.prompt({ text: '[scenario:forever]' })
    await until(stream, (reply) => textOf(reply) !== '')
    await stage.server.kill()
    await stage.server.restart()
    const lost = await settled(stream)
    expect([lost.outcome, lost.lostReason]).toEqual(['lost', 'end-not-seen'])
    const next = await settled(stage.opencode.prompt({ sessionID: lost.sessionID, text: '[scenario:plain]' }))
    expect([next.outcome, textOf(next)]).toEqual(['completed', 'Hello there.'])
  })
})

async function settled(stream: ReplyStream): Promise<Reply> {
  return await within(60_000, stream.result, () => `it is ${stream.reply?.phase}`)
}

async function until(stream: ReplyStream, isThere: (reply: Reply) => boolean): Promise<void> {
  await eventually(60_000, async () => (stream.reply && isThere(stream.reply) ? true : undefined))
}
