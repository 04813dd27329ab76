import { createHandClock, createRecordedServer, openCode2Version, type RecordedServer } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect, replay } from '../../src/index.ts'
import { watchAll } from '../drive/stage.ts'
import { sourceAt } from '../source/live-stage.ts'
import { readTape } from './recorded.ts'

function restOf(server: RecordedServer): () => Promise<void> {
  return async () => {
    for (let calm = 0; calm < 3; calm = server.answering === 0 ? calm + 1 : 0)
      await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

test('a session that is first read between a rejection and its next run shows two replies', async () => {
  const { bytes } = readTape('parked-by-rejection')
  // REST shows the next execution, which has yet to deliver its prompt; the stream has not told of it.
  const server = createRecordedServer({ bytes, version: openCode2Version, ahead: 1 })
  const clock = createHandClock()
  server.publish(server.types.lastIndexOf('session.execution.started'))
  const opencode = connect({ url: 'http://recorded', fetch: server.fetch, clock, random: () => 0 })
  const replies = watchAll(opencode)
  const rest = restOf(server)
  await opencode.ready
  await rest()
  server.publish(server.length)
  await clock.advance(60_000, rest)
  expect(replies.map(({ outcome }) => outcome)).toEqual(['stopped', 'completed'])
  expect(replies.map(({ promptIDs }) => promptIDs)).toEqual((await replay(bytes)).map(({ promptIDs }) => promptIDs))
  await opencode.close()
})

test('a fork that was made in a gap and has begun to run shows its own run alone', async () => {
  const { bytes, frames } = readTape('fork')
  const server = createRecordedServer({ bytes, version: openCode2Version })
  const clock = createHandClock()
  // Its prompt is yet to be delivered: until then the fork has nothing but copies.
  server.publish(server.types.lastIndexOf('session.execution.started') + 1)
  const opencode = connect({ url: 'http://recorded', fetch: server.fetch, clock, random: () => 0 })
  const replies = watchAll(opencode)
  const rest = restOf(server)
  await opencode.ready
  await rest()
  server.publish(server.length)
  await clock.advance(60_000, rest)
  const forkID = frames.find(({ type }) => type === 'session.forked')?.data.sessionID
  expect(replies.map(({ sessionID, messages, outcome }) => [sessionID, messages.length, outcome])).toEqual([
    [forkID, 1, 'completed'],
  ])
  await opencode.close()
})

test('what the server tells the model about moved work does not count as a prompt', async () => {
  const [reply] = await replay(readTape('subagent-moved').bytes)
  expect(reply?.promptIDs).toHaveLength(1)
  expect(reply?.messages.map(({ parentID }) => parentID)).toEqual([reply?.promptIDs[0], reply?.promptIDs[0]])
})

test.each([
  [1, 'busy'],
  [2, undefined],
])('a prompt without a step, in a session that %i readings call idle, is %s', async (idle, status) => {
  const { bytes, sessions } = readTape('plain')
  const server = createRecordedServer({ bytes, version: openCode2Version })
  server.publish(server.types.indexOf('session.input.promoted') + 1)
  let asked = 0
  const call: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    if (!request.url.endsWith('/session/active')) return await server.fetch(request)
    asked += 1
    return asked > idle ? await server.fetch(request) : Response.json({ data: {} })
  }
  const source = sourceAt('http://recorded', call)
  const place = { sessionID: sessions[0]?.id ?? '', directory: undefined }
  const { working, messages } = await source.startReading().session(place, { messageIDs: [] })
  expect(messages).toHaveLength(1)
  expect([working?.status, asked]).toEqual([status, 2])
  source.close()
})
