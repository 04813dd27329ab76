import { createRecordedServer, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import { type PostedPrompt, textOf } from '../../src/index.ts'
import { createListener } from '../recorded/picture.ts'
import { setStage } from './stage.ts'

const scenario = 'reasoning-text'
const { types } = createRecordedServer({ bytes: readRecording({ version: '1.18.33', scenario }).bytes })
const { truth } = readRecording({ version: '1.18.33', scenario })
const [sessionID = '', session] = Object.entries(truth.sessions)[0] ?? []
const messages: { info: { id: string; role: string }; parts: { text?: string }[] }[] = JSON.parse(
  JSON.stringify(session?.messages ?? []),
)
const [prompt] = messages
const posted: PostedPrompt = { sessionID, messageID: prompt?.info.id, at: 0 }

test('a run that ended meanwhile is found settled, with its end and its content', async () => {
  const { server, opencode, advance } = setStage({ scenario })
  server.publish(types.length)
  await opencode.ready
  const { heard, observer } = createListener()
  const found = opencode.resume(posted, { observe: () => [observer] })
  await advance(0)
  const resumed = await found
  if (resumed.type !== 'found') throw new Error(resumed.type)
  const reply = await resumed.stream.result
  expect([reply, heard.settled, heard.problems]).toEqual([await opencode.reply(sessionID), 1, []])
  await opencode.close()
})

test('a run that goes on is followed to its end', async () => {
  const { server, opencode, advance } = setStage({ scenario, before: types.indexOf('message.part.delta') + 1 })
  await opencode.ready
  const { heard, observer } = createListener()
  const resumed = await opencode.resume(posted, { observe: () => [observer] })
  if (resumed.type !== 'found') throw new Error(resumed.type)
  expect([resumed.stream.joined, resumed.stream.reply?.phase]).toEqual([false, 'working'])
  server.publish(types.length)
  await advance(2000)
  const reply = await resumed.stream.result
  expect([reply.outcome, textOf(reply), heard.settled, heard.problems]).toEqual([
    'completed',
    expect.any(String),
    1,
    [],
  ])
  await opencode.close()
})

test('a prompt that the server does not have is absent after ten seconds', async () => {
  const { server, clock, opencode, advance } = setStage({ scenario })
  server.publish(types.length)
  await opencode.ready
  const at = clock.now()
  let absentAt = 0
  void opencode.resume({ sessionID, messageID: 'msg_0', at }).then(({ type }) => {
    if (type === 'absent') absentAt = clock.now()
  })
  await advance(9_000)
  expect(absentAt).toBe(0)
  await advance(2_000)
  expect(absentAt - at).toBe(10_000)
  await opencode.close()
})
