import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, filesOf, type Reply, ReplyError, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterEach, expect, test } from 'vitest'
import { codex } from '../../src/codex.ts'
import { collectReplies } from '../collect-replies.ts'
import { delayListener } from './delayed-listener.ts'
import { playDesk, playLateDesk, promptAndWait } from './desk-scene.ts'
import { type Listener, listenerToken, startListener } from './listener.ts'
import { connectToolDesk, playToolDesk } from './tool-desk.ts'

const version = '0.169.0'

let listener: Listener | undefined
const clients: Client[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
  await listener?.close()
  listener = undefined
})

/** A client of the listener: the chat, or the desk at which a person begins runs. */
async function connected(url: string, token = listenerToken): Promise<Client> {
  const client = connectSource(codex({ url, token }))
  clients.push(client)
  await client.ready
  return client
}

test("shows a run that begins at the desk, answers its approval, and stops the desk's next one", async () => {
  listener = await startListener(version)
  const { url, directory, model } = listener
  const chat = await connected(url)
  const replies = await playDesk(chat, directory, { desk: await connected(url), model })
  expect(replies.map((reply) => [textOf(reply), reply.outcome, reply.prompt?.text])).toEqual([
    ['I run it.\n\nIt is made.', 'completed', '[scenario:permission] Go.'],
    [expect.stringMatching(/^(I begin\.)?$/), 'aborted', '[scenario:slow] Go.'],
  ])
  expect(replies[0]?.asks).toMatchObject([{ permission: 'bash', title: 'May I make a file?', status: 'answered' }])
  expect(replies[0] && toolsOf(replies[0])).toMatchObject([{ state: { status: 'completed', output: 'made\n' } }])
  expect(existsSync(join(directory, 'made.txt'))).toBe(true)
})

test('a request has the same id for each client, also for one that connects later', async () => {
  listener = await startListener(version)
  const { url, directory } = listener
  const { requestID } = await promptAndWait(await connected(url))
  const [reply] = await playLateDesk(await connected(url), directory)
  expect(reply?.asks).toMatchObject([{ requestID, status: 'answered' }])
})

test('an approval that the chat rejects is rejected at the desk, too', async () => {
  listener = await startListener(version)
  const { url, directory } = listener
  const [chat, desk] = [await connected(url), await connected(url)]
  const { settled } = collectReplies(chat, directory, { permissionAsked: ({ ask }) => void chat.reject(ask) })
  const atDesk = await desk.prompt({ text: '[scenario:permission] Go.' }).result
  const [reply] = await settled((replies) => replies.length === 1)
  expect([atDesk.outcome, reply?.outcome, reply?.asks[0]?.status]).toEqual(['completed', 'completed', 'rejected'])
  expect(toolsOf(atDesk)).toMatchObject([{ state: { status: 'error', error: 'The call was rejected.' } }])
  expect(existsSync(join(directory, 'made.txt'))).toBe(false)
})

test('a listener that is killed in mid-turn leaves a reply that fails after its restart, and serves the session then', async () => {
  listener = await startListener(version)
  const { url, directory, model } = listener
  const [chat, desk] = [await connected(url), await connected(url)]
  const { begun, settled } = collectReplies(chat, directory)
  const first = await desk.prompt({ text: '[scenario:plain] Go.' }).result
  const { sessionID } = first
  const cut = desk.prompt({ text: '[scenario:slow] Go.', sessionID })
  await model.held('slow')
  await begun(2)
  await listener.kill()
  listener = await startListener(version, listener)
  const shown: readonly Reply[] = [await cut.result, ...(await settled((replies) => replies.length === 2)).slice(1)]
  for (const { outcome, error } of shown)
    expect([outcome, error?.message]).toEqual(['failed', expect.stringContaining('in the middle of this turn')])
  const next = await chat.prompt({ text: '[scenario:meanwhile] Go.', sessionID }).result
  expect([next.outcome, textOf(next)]).toEqual(['completed', 'The second answer.'])
})

test("a prompt that joins another client's turn before that was seen is part of its reply", async () => {
  listener = await startListener(version)
  const { url, model } = listener
  const slow = await delayListener(url)
  const [chat, desk] = [await connected(slow.url), await connected(url)]
  const { sessionID } = await chat.prompt({ text: '[scenario:plain] Go.' }).result
  slow.hold()
  const theirs = desk.prompt({ text: '[scenario:slow] Theirs.', sessionID })
  await model.held('slow')
  const mine = chat.prompt({ text: '[scenario:meanwhile] Mine.', sessionID })
  await slow.sent('turn/start')
  slow.release()
  model.release('slow')
  const replies = [await mine.result, await theirs.result]
  slow.close()
  expect(replies.map((reply) => [reply.outcome, reply.prompt?.text, textOf(reply)])).toEqual(
    replies.map(() => ['completed', '[scenario:slow] Theirs.', 'I begin.\n\nThe second answer.']),
  )
  expect([mine.joined, replies[0]?.promptIDs.length]).toEqual([true, 2])
})

test.each(['chat', 'desk'])(
  'two prompts at once, that of the %s first, are one turn, whose answer each shows once',
  async (first) => {
    listener = await startListener(version)
    const { url } = listener
    const [chat, desk] = [await connected(url), await connected(url)]
    const { sessionID } = await chat.prompt({ text: '[scenario:plain] Go.' }).result
    const prompts = (first === 'chat' ? [chat, desk] : [desk, chat]).map((client) =>
      client.prompt({ text: '[scenario:meanwhile] Go on.', sessionID }),
    )
    const replies = await Promise.all(prompts.map((stream) => stream.result))
    for (const reply of replies) expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'The second answer.'])
  },
)

test('a tool of another client is run there, and its picture is attached to the call', async () => {
  listener = await startListener(version)
  const { url, directory } = listener
  const chat = await connected(url)
  const desk = await connectToolDesk(url, directory)
  const reply = await playToolDesk(chat, directory, desk)
  desk.close()
  expect(reply && [reply.outcome, textOf(reply)]).toEqual(['completed', 'It is shot.'])
  expect(reply && filesOf(reply)).toMatchObject([{ mime: 'image/png' }])
})

test('a client with another token is refused', async () => {
  listener = await startListener(version)
  const error = await connected(listener.url, 'another-token').catch((reason: unknown) => reason)
  expect(error instanceof ReplyError && error.type).toBe('unauthorized')
})
