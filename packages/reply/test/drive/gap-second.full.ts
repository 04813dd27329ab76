import { openCode2Version, startProxy } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reply, textOf } from '../../src/index.ts'
import { openStage, type Stage } from './server.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ version: openCode2Version })
})
afterAll(async () => await stage?.close())

test('a run that came and went in a gap is found on OpenCode 2, also in a session from before', async () => {
  const proxy = await startProxy({ target: stage.server.url })
  const desk = stage.open()
  const watcher = stage.open({ url: proxy.url, backOff: { minMs: 20, maxMs: 100 } })
  const seen: Reply[] = []
  watcher.watch({}, { observe: () => [{ replySettled: ({ reply }) => void seen.push(reply) }] })
  await watcher.ready
  const { sessionID } = await desk.prompt({ text: '[scenario:plain]' }).result
  await expect.poll(() => seen).toHaveLength(1)
  await proxy.refuse()
  const inGap = await desk.prompt({ sessionID, text: '[scenario:plain]' }).result
  await proxy.resume()
  await expect.poll(() => seen.map(({ promptIDs }) => promptIDs)).toContainEqual(inGap.promptIDs)
  expect(seen.map((reply) => [textOf(reply), reply.outcome])).toEqual([
    ['Hello there.', 'completed'],
    ['Hello there.', 'completed'],
  ])
  await Promise.all([desk.close(), watcher.close()])
  await proxy.close()
})
