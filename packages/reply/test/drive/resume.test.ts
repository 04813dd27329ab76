import { createRecordedServer, openCode2Version, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import type { Resumed } from '../../src/drive/runs/posted-prompt.ts'
import { type PostedPrompt, type Reply, type ReplyObserver, type ReplyStream, textOf } from '../../src/index.ts'
import { createListener } from '../recorded/picture.ts'
import { setStage } from './stage.ts'

interface Told {
  readonly info: { readonly id: string; readonly role: string }
  readonly parts: readonly { readonly type: string; readonly text?: string }[]
}

const version = '1.18.33'

/** A recorded session and its prompts, as the process that posted them had written them down. */
function recordedPrompts(scenario: string) {
  const { truth, bytes } = readRecording({ version, scenario })
  const { types } = createRecordedServer({ bytes, version })
  const [sessionID = '', session] = Object.entries(truth.sessions)[0] ?? []
  const messages: readonly Told[] = JSON.parse(JSON.stringify(session?.messages ?? []))
  const posted = messages.flatMap(({ info, parts }, at): readonly PostedPrompt[] =>
    info.role === 'user'
      ? [{ sessionID, messageID: info.id, after: messages[at - 1]?.info.id, text: parts[0]?.text, at: 0 }]
      : [],
  )
  const texts = messages
    .filter(({ info }) => info.role === 'assistant')
    .map(({ parts }) => parts.find(({ type }) => type === 'text')?.text)
  const [first, second] = posted
  if (!first) throw new Error(`${scenario} has no prompt.`)
  return { sessionID, types, first, second: second ?? first, texts }
}

function found(resumed: Resumed): ReplyStream {
  if (resumed.type !== 'found') throw new Error(`The prompt is ${resumed.type}.`)
  return resumed.stream
}

test('a run that ended meanwhile is settled, with its end and its content', async () => {
  const { types, first, sessionID } = recordedPrompts('reasoning-text')
  const { opencode } = setStage({ scenario: 'reasoning-text', before: types.length })
  const { heard, observer } = createListener()
  const given: Reply[] = []
  const observe = (reply: Reply): readonly ReplyObserver[] => {
    given.push(reply)
    return [observer]
  }
  const stream = found(await opencode.resume(first, { observe }))
  expect([stream.reply, stream.joined, heard.settled, heard.problems]).toEqual([
    await opencode.reply(sessionID),
    false,
    1,
    [],
  ])
  expect(given).toEqual([stream.reply])
  await opencode.close()
})

test('a run that others followed is settled, without theirs', async () => {
  const { types, first, second, texts } = recordedPrompts('two-turns')
  const { opencode } = setStage({ scenario: 'two-turns', before: types.length })
  const byText = { ...second, messageID: undefined }
  for (const [posted, words] of [
    [first, texts[0]],
    [second, texts[1]],
    [byText, texts[1]],
  ] as const) {
    const reply = await found(await opencode.resume(posted)).result
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', words])
  }
  await opencode.close()
})

test('a run that goes on is followed to its end', async () => {
  const { types, first, texts } = recordedPrompts('reasoning-text')
  const before = types.indexOf('message.part.delta') + 1
  const { server, opencode, advance } = setStage({ scenario: 'reasoning-text', before })
  const { heard, observer } = createListener()
  const stream = found(await opencode.resume(first, { observe: () => [observer] }))
  expect([stream.joined, stream.reply?.phase]).toEqual([false, 'working'])
  const again = found(await opencode.resume(first))
  server.publish(types.length)
  await advance(2000)
  const reply = await stream.result
  expect([reply.outcome, textOf(reply), heard.settled, heard.problems]).toEqual(['completed', texts[0], 1, []])
  expect(await again.result).toBe(reply)
  await opencode.close()
})

test('a prompt that joined a run says so, and its signal leaves that run', async () => {
  const scenario = 'second-prompt'
  const { types, second } = recordedPrompts(scenario)
  const { server, opencode, rest, advance } = setStage({ scenario, before: types.lastIndexOf('message.part.delta') })
  const leaving = new AbortController()
  const stream = found(await opencode.resume(second, { signal: leaving.signal }))
  await advance(10_000)
  expect([stream.joined, stream.reply?.promptIDs.includes(second.messageID ?? '')]).toEqual([true, true])
  leaving.abort()
  await rest()
  server.publish(types.length)
  await advance(2000)
  expect((await stream.result).outcome).toBe('completed')
  await opencode.close()
})

test('a prompt that the server does not have is absent ten seconds after its post', async () => {
  const { types, sessionID } = recordedPrompts('plain')
  const { clock, opencode, advance } = setStage({ scenario: 'plain', before: types.length })
  await opencode.ready
  const at = clock.now()
  let absentAt = 0
  void opencode.resume({ sessionID, messageID: 'msg_0', at }).then(({ type }) => {
    if (type === 'absent') absentAt = clock.now()
  })
  await advance(9000)
  expect(absentAt).toBe(0)
  await advance(2000)
  expect(absentAt - at).toBe(10_000)
  expect(await opencode.resume({ sessionID, text: 'Other words.', at: 0 })).toEqual({ type: 'absent' })
  await opencode.close()
})

test('a prompt that the server is still storing is found', async () => {
  const { types, first } = recordedPrompts('plain')
  const { server, clock, opencode, advance } = setStage({ scenario: 'plain', before: types.indexOf('message.updated') })
  await opencode.ready
  const resuming = opencode.resume({ ...first, at: clock.now() })
  await advance(2000)
  server.publish(types.length)
  await advance(8000)
  expect((await found(await resuming).result).outcome).toBe('completed')
  await opencode.close()
})

test('a prompt that was stored and never ran fails after half a minute', async () => {
  const { types, first } = recordedPrompts('unknown-model')
  const { opencode, advance } = setStage({ scenario: 'unknown-model', before: types.length })
  const stream = found(await opencode.resume(first))
  await advance(32_000)
  expect(await stream.result).toMatchObject({ outcome: 'failed', error: { name: 'NeverStarted' } })
  expect([stream.joined, stream.reply?.promptIDs]).toEqual([false, [first.messageID]])
  await opencode.close()
})

test('a note that the server has is done', async () => {
  const { types, first } = recordedPrompts('no-reply')
  const { opencode } = setStage({ scenario: 'no-reply', before: types.length })
  const stream = found(await opencode.resume({ ...first, noReply: true }))
  expect(await stream.result).toMatchObject({ outcome: 'completed', messages: [] })
  await opencode.close()
})

test('a note that a server keeps aside is unknown', async () => {
  const scenario = 'plain'
  const { truth, bytes } = readRecording({ version: openCode2Version, scenario })
  const { length } = createRecordedServer({ bytes, version: openCode2Version })
  const { opencode } = setStage({ scenario, version: openCode2Version, before: length })
  const posted = { sessionID: Object.keys(truth.sessions)[0] ?? '', messageID: 'msg_0', at: 0 }
  expect(await opencode.resume({ ...posted, noReply: true })).toEqual({ type: 'unknown' })
  expect(await opencode.resume(posted)).toEqual({ type: 'absent' })
  await opencode.close()
})

test('two prompts are looked for at once, although the server has yet to show how it calls its inbox', async () => {
  const scenario = 'plain'
  const { truth, bytes } = readRecording({ version: openCode2Version, scenario })
  const { length } = createRecordedServer({ bytes, version: openCode2Version })
  const paths: string[] = []
  const { opencode, rest } = setStage({
    scenario,
    version: openCode2Version,
    before: length,
    between: async (request, answer) => {
      const path = new URL(request.url).pathname.split('/').at(-1) ?? ''
      paths.push(path)
      const isSecond = path === 'inbox' && paths.filter((each) => each === 'inbox').length === 2
      // The first look has found the other name by then.
      while (isSecond && !paths.includes('message')) await new Promise<void>((resolve) => setImmediate(resolve))
      return await answer(request)
    },
  })
  await opencode.ready
  const posted = { sessionID: Object.keys(truth.sessions)[0] ?? '', messageID: 'msg_0', at: 0 }
  const looks = Promise.all([opencode.resume(posted), opencode.resume(posted)])
  await rest()
  expect(await looks).toEqual([{ type: 'absent' }, { type: 'absent' }])
  await opencode.close()
})

test('a session that is gone rejects, and so does a time-out of 0', async () => {
  const { opencode } = setStage({ scenario: 'plain' })
  await expect(opencode.resume({ sessionID: 'ses_0', at: 0 })).rejects.toMatchObject({ type: 'gone' })
  await expect(opencode.resume({ sessionID: 'ses_0', at: 0 }, { timeoutMs: 0 })).rejects.toMatchObject({
    type: 'invalid',
  })
  await opencode.close()
})

test("a sub-agent's session rejects", async () => {
  const { truth } = readRecording({ version, scenario: 'subagent' })
  const { length } = createRecordedServer({ bytes: readRecording({ version, scenario: 'subagent' }).bytes, version })
  const sessionIDs = Object.keys(truth.sessions)
  const { opencode } = setStage({ scenario: 'subagent', before: length })
  const ends = await Promise.allSettled(sessionIDs.map((sessionID) => opencode.resume({ sessionID, at: 0 })))
  expect(ends.map((end) => (end.status === 'rejected' ? end.reason.type : end.value.type)).toSorted()).toEqual([
    'found',
    'invalid',
  ])
  await opencode.close()
})

test('a prompt that waits in the inbox is followed when its turn comes', async () => {
  const scenario = 'queue'
  const { bytes } = readRecording({ version: openCode2Version, scenario })
  const { types } = createRecordedServer({ bytes, version: openCode2Version })
  const frames = new TextDecoder()
    .decode(bytes)
    .split('\n')
    .filter((line) => line.includes('"session.input.admitted"'))
  const { sessionID, inputID } = JSON.parse(frames.at(-1)?.slice(5) ?? '').data
  const before = types.lastIndexOf('session.input.admitted') + 1
  const { server, opencode, rest, advance } = setStage({ scenario, version: openCode2Version, before })
  const stream = found(await opencode.resume({ sessionID, messageID: inputID, at: 0 }))
  await rest()
  expect(stream.reply).toBeUndefined()
  server.publish(types.length)
  await advance(10_000)
  const reply = await stream.result
  expect([reply.outcome, reply.promptIDs.includes(inputID)]).toEqual(['completed', true])
  await opencode.close()
})
