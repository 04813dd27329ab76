import { openCode2Password, openCode2Version, startProxy } from '@reply/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Ask, Client, Reply, ReplyStream } from '../../src/index.ts'
import { textOf } from '../../src/index.ts'
import { eventually, within } from '../drive/patience.ts'
import { openStage, type Stage } from '../drive/server.ts'

/** What a live server and its connection do to a run of OpenCode 2. */
describe(`OpenCode ${openCode2Version}`, () => {
  let stage: Stage
  let proxy: Awaited<ReturnType<typeof startProxy>>
  let opencode: Client

  beforeAll(async () => {
    stage = await openStage({ version: openCode2Version })
    proxy = await startProxy({ target: stage.server.url })
    opencode = stage.open({ url: proxy.url, backOff: { minMs: 20, maxMs: 100 }, silenceMs: 3000, deadlineMs: 5000 })
  })
  afterAll(async () => {
    await stage.close()
    await proxy.close()
  })

  test('a text whose connection was cut in the middle is whole in the end', async () => {
    const stream = opencode.prompt({ text: '[scenario:pause]' })
    await until(stream, (reply) => textOf(reply) === 'One ')
    proxy.cut()
    stage.model.release('pause')
    const reply = await settled(stream)
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'One two.'])
  })

  test('a run that ended while nothing could connect is read', async () => {
    const stream = opencode.prompt({ text: '[scenario:gap]' })
    await until(stream, (reply) => textOf(reply) === 'One ')
    await proxy.refuse()
    stage.model.release('gap')
    await eventually(60_000, async () => ((await active()).length === 0 ? true : undefined))
    await proxy.resume()
    const reply = await settled(stream)
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'One two.'])
  })

  test('an ask that waits across a reconnect is answered once', async () => {
    const stream = opencode.prompt({ text: '[scenario:question]' })
    const ask = await firstAsk(stream)
    proxy.cut()
    await opencode.answer(ask, [['Red']])
    await expect(opencode.answer(ask, [['Red']])).rejects.toMatchObject({ type: 'already-resolved' })
    const reply = await settled(stream)
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'As you like.'])
  })

  test('an abort ends the run on the server, and a late approval finds nothing', async () => {
    const stream = opencode.prompt({ text: '[scenario:permission]' })
    const ask = await firstAsk(stream)
    expect(await within(60_000, stream.abort(), () => 'not aborted')).toMatchObject({ outcome: 'aborted' })
    expect(await active()).toEqual([])
    await expect(opencode.answer(ask, 'once')).rejects.toMatchObject({ type: 'already-resolved' })
  })

  test.each([
    ['killed', async () => await stage.server.kill()],
    ['asked to stop', async () => {}],
  ])('a server that is %s loses its run, and the session goes on after its start', async (_, stop) => {
    const stream = opencode.prompt({ text: '[scenario:forever]' })
    await until(stream, (reply) => textOf(reply) !== '')
    await stop()
    await stage.server.restart()
    const lost = await settled(stream)
    expect(lost).toMatchObject({ outcome: 'lost', lostReason: 'end-not-seen' })
    expect(textOf(lost)).toBe('This never ends, ')
    const next = await settled(opencode.prompt({ sessionID: lost.sessionID, text: '[scenario:plain]' }))
    expect([next.outcome, textOf(next)]).toEqual(['completed', 'Hello there.'])
  })

  async function active(): Promise<readonly string[]> {
    const authorization = `Basic ${Buffer.from(`opencode:${openCode2Password}`).toString('base64')}`
    const response = await fetch(`${stage.server.url}/api/session/active`, { headers: { authorization } })
    const { data } = (await response.json()) as { readonly data: object }
    return Object.keys(data)
  }
})

async function firstAsk(stream: ReplyStream): Promise<Ask> {
  for await (const { ask } of stream.filter(['questionAsked', 'permissionAsked', 'askChanged']))
    if (ask.type === 'question' || ask.call) return ask
  throw new Error(`The reply settled without an ask: ${stream.reply?.outcome}`)
}

async function settled(stream: ReplyStream): Promise<Reply> {
  return await within(60_000, stream.result, () => `it is ${stream.reply?.phase}`)
}

async function until(stream: ReplyStream, isThere: (reply: Reply) => boolean): Promise<void> {
  await eventually(60_000, async () => (stream.reply && isThere(stream.reply) ? true : undefined))
}
