import { createRecordedServer, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import { textOf } from '../../src/index.ts'
import { createListener } from '../recorded/picture.ts'
import { setStage } from './stage.ts'

const scenario = 'second-prompt'

/** A recorded server can't accept ids made by a client. */
const tells = '1.18.3'
const { types } = createRecordedServer({ bytes: readRecording({ version: '1.18.33', scenario }).bytes })

/** After the first delta, and before the second prompt's message. */
const begun = types.indexOf('message.part.delta') + 1

/** The recorded second prompt's own words. */
function secondWords(): string {
  const { truth } = readRecording({ version: '1.18.33', scenario })
  const messages = Object.values(truth.sessions)[0]?.messages ?? []
  const users = JSON.parse(JSON.stringify(messages)).filter(
    (one: { info: { role: string } }) => one.info.role === 'user',
  )
  return users[1].parts[0].text
}

const sessionID = Object.keys(readRecording({ version: '1.18.33', scenario }).truth.sessions)[0] ?? ''

/** The recorded server has no route for a single message: it is picked from the list. */
const withMessages = async (request: Request, answer: (request: Request) => Promise<Response>): Promise<Response> => {
  const [, path, id, query = ''] = /^(.*\/message)\/(msg_\w+)(\?.*)?$/.exec(request.url) ?? []
  if (path === undefined) return await answer(request)
  const all: { info: { id: string } }[] = JSON.parse(await (await answer(new Request(`${path}${query}`))).text())
  return Response.json(all.find((message) => message.info.id === id))
}

test('a prompt that joins across a gap receives everything once', async () => {
  const { server, opencode, rest, advance } = setStage({ scenario, tells, between: withMessages })
  opencode.watch({}, { observe: () => [] })
  await rest()
  server.publish(begun)
  await rest()
  const { heard, observer } = createListener()
  const stream = opencode.prompt({ sessionID, text: secondWords() }, { observe: () => [observer] })
  await rest()
  server.cut()
  server.publish(types.length - begun - 4)
  await advance(2000)
  server.publish(types.length)
  await advance(5000)
  const reply = await stream.result
  expect([stream.joined, reply.outcome, heard.problems, heard.settled]).toEqual([true, 'completed', [], 1])
  await opencode.close()
})

test("another client's prompt in the meantime is not taken for ours", async () => {
  const { server, opencode, rest, advance } = setStage({ scenario, tells, between: withMessages })
  opencode.watch({}, { observe: () => [] })
  await rest()
  server.publish(begun)
  await rest()
  const stream = opencode.prompt({ sessionID, text: 'Words that this server never got.' })
  await rest()
  server.publish(types.length)
  await advance(40_000)
  expect(stream.joined).toBe(false)
  expect(await stream.result).toMatchObject({ outcome: 'failed', error: { name: 'refused' } })
  await opencode.close()
})

test('a prompt that is aborted before it is found ends the running reply', async () => {
  const { server, opencode, rest, advance } = setStage({ scenario, tells, between: withMessages })
  opencode.watch({}, { observe: () => [] })
  await rest()
  server.publish(begun)
  await rest()
  const stream = opencode.prompt({ sessionID, text: 'More.' })
  await rest()
  const aborted = stream.abort()
  await rest()
  server.publish(types.length)
  await advance(40_000)
  expect((await aborted).outcome).toBe('aborted')
  expect(server.posts.filter((post) => post.endsWith('/abort')).length).toBeGreaterThan(0)
  await opencode.close()
})

test('a server that stops answering delays an abort by half a minute at most', async () => {
  let isHanging = false
  const { server, opencode, rest, advance, clock } = setStage({
    scenario,
    between: async (request, answer) =>
      isHanging && !request.url.endsWith('/event')
        ? await new Promise<Response>((_, reject) =>
            request.signal.addEventListener('abort', () => reject(request.signal.reason)),
          )
        : await answer(request),
  })
  await rest()
  server.publish(2)
  await rest()
  const stream = opencode.prompt({ sessionID, text: 'Hello.' })
  await rest()
  server.publish(begun - 2)
  await advance(100)
  isHanging = true
  const start = clock.now()
  const aborted = stream.abort().then((reply) => [reply.outcome, reply.lostReason, clock.now() - start])
  await advance(31_000)
  expect(await aborted).toEqual(['lost', 'not-stopped', 30_000])
  await opencode.close()
})

test('an iterator that waits for its next change can be closed, and so can a stream', async () => {
  const { opencode } = setStage({ scenario })
  const stream = opencode.prompt({ sessionID, text: 'Hello.' })
  const iterator = stream[Symbol.asyncIterator]()
  const waiting = iterator.next()
  const second = iterator.next()
  await iterator.return?.()
  expect([await waiting, await second].map(({ done }) => done)).toEqual([true, true])
  const reader = stream.toReadableStream().getReader()
  const reading = reader.read()
  await reader.cancel()
  expect((await reading).done).toBe(true)
  await opencode.close()
  expect(textOf(await stream.result)).toBe('')
})
