import { filesOf, type Reply, ReplyError, textOf, toolsOf } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { type CodexOptions, codex } from '../../src/codex.ts'
import { recordingOf } from '../replay.ts'
import { codexVersions } from './codex-stage.ts'
import { playAnsweredDesk, playDesk, playLateDesk } from './desk-scene.ts'
import { listenerToken } from './listener.ts'
import { type ReplayListener, replayListener } from './replay-listener.ts'
import { dot } from './scenes.ts'
import { type Respond, scriptedListener } from './scripted-listener.ts'
import { playToolDesk } from './tool-desk.ts'

/** The thread of the recording of a client that connects late. */
function threadOf(version: string): string {
  const [, opened] = recordingOf('codex', `${version}/late-desk`)
  const { data } = z.object({ data: z.array(z.string()) }).parse(opened?.line.result)
  return data[0] ?? ''
}

let listener: ReplayListener | undefined
afterEach(() => listener?.close())

describe.each(codexVersions)('a listener of Codex %s', (version) => {
  test("shows another client's runs with their prompts, and the chat has their asks and stop, too", async () => {
    listener = await replayListener(`${version}/desk`)
    const chat = connectSource(codex({ url: listener.url, token: listenerToken }))
    const replies: readonly Reply[] = await playDesk(chat, '/project', {})
    await chat.close()
    expect(replies.map((reply) => [textOf(reply), reply.outcome, reply.prompt?.text])).toEqual([
      ['I run it.\n\nIt is made.', 'completed', '[scenario:permission] Go.'],
      [expect.stringMatching(/^(I begin\.)?$/), 'aborted', '[scenario:slow] Go.'],
    ])
    const [first] = replies
    expect(first?.asks).toMatchObject([{ permission: 'bash', title: 'May I make a file?', status: 'answered' }])
    expect(first && toolsOf(first)).toMatchObject([{ tool: 'bash', state: { status: 'completed', output: 'made\n' } }])
  })

  test('a request that is answered at the desk is withdrawn, before the run goes on', async () => {
    listener = await replayListener(`${version}/answered-desk`)
    const chat = connectSource(codex({ url: listener.url, token: listenerToken }))
    const nothing = async (): Promise<void> => {}
    const [reply] = await playAnsweredDesk(chat, '/project', nothing, nothing)
    await chat.close()
    expect([reply?.outcome, reply?.asks.map(({ status }) => status)]).toEqual(['completed', ['withdrawn']])
  })

  test('a client that connects while a run asks knows the command, and may allow it', async () => {
    listener = await replayListener(`${version}/late-desk`)
    const chat = connectSource(codex({ url: listener.url, token: listenerToken }))
    const [reply] = await playLateDesk(chat, '/project')
    await chat.close()
    expect([reply?.prompt?.text, reply?.outcome]).toEqual(['[scenario:permission] Go.', 'completed'])
    const command = "/bin/bash -lc 'touch made.txt && echo made'"
    expect(reply?.asks).toMatchObject([{ permission: 'bash', status: 'answered', call: { input: { command } } }])
    expect(reply && toolsOf(reply)).toMatchObject([{ tool: 'bash', state: { status: 'completed', output: 'made\n' } }])
  })
})

test.each(codexVersions)('a request that Codex %s repeats late is in the first reply that is read', async (version) => {
  listener = await replayListener(`${version}/late-desk`, { lateMs: 200 })
  const chat = connectSource(codex({ url: listener.url, token: listenerToken }))
  await chat.ready
  const reply = await chat.reply(threadOf(version))
  await chat.close()
  expect(reply?.asks).toMatchObject([{ permission: 'bash', status: 'pending' }])
})

describe.each(codexVersions)('a client of Codex %s with a tool of its own', (version) => {
  test('runs the tool itself, and its picture is attached to the call', async () => {
    listener = await replayListener(`${version}/tool-desk`)
    const errors: string[] = []
    const onError = (error: ReplyError) => void errors.push(error.message)
    const chat = connectSource(codex({ url: listener.url, token: listenerToken, onError }))
    const reply = await playToolDesk(chat, '/project')
    await chat.close()
    expect(reply?.outcome).toBe('completed')
    expect(reply && toolsOf(reply)).toMatchObject([
      { tool: 'shoot', state: { input: { arguments: { zoom: 2 } }, output: 'Shot.\n[image/png, 70 B]' } },
    ])
    expect(reply && filesOf(reply)).toMatchObject([
      { mime: 'image/png', url: `data:image/png;base64,${dot}`, size: 70 },
    ])
    expect(errors).toEqual([])
  })
})

test('connects again after the listener was gone', async () => {
  listener = await replayListener('0.169.0/desk')
  const url = listener.url
  const chat = connectSource(codex({ url, token: listenerToken }))
  const connections = listener.connections()
  await chat.ready
  const stop = chat.watch({ directory: '/project' }, { observe: () => [] })
  listener.drop()
  await expect.poll(() => listener?.connections()).toBe(connections + 2)
  stop()
  await chat.close()
})

/**
 * A chat whose prompt the listener has taken as `turn_1` when the connection is lost. `respond` responds to what follows. Resolves
 * with the end of its reply, and the errors that were reported.
 */
async function lostInMidTurn(respond: Respond) {
  let isLost = false
  const scripted = await scriptedListener((method, threadID) => {
    if (method === 'turn/start') return { result: { turn: { id: 'turn_1' } } }
    return isLost ? respond(method, threadID) : undefined
  })
  const { url } = scripted
  const errors: string[] = []
  const source = codex({ url, onError: (error) => void errors.push(error.message) })
  const prompt: Source['prompt'] = async (...args) => {
    await source.prompt(...args)
    isLost = true
    scripted.drop()
  }
  const chat = connectSource({ ...source, prompt }, { backOff: { minMs: 20, maxMs: 100 } })
  const reply = await chat.prompt({ text: 'Go.' }).result
  await chat.close()
  scripted.close()
  return { end: [reply.outcome, reply.error?.message ?? textOf(reply)], errors, url }
}

const refusal = { error: { code: -32600, message: 'session thread_1 is archived.' } }

test.each(['thread/read', 'thread/resume', 'thread/turns/list'])(
  'a lost session for which Codex refuses %s has a reply that fails, and the reason is reported',
  async (refused) => {
    const { end, errors, url } = await lostInMidTurn((method) => (method === refused ? refusal : undefined))
    expect(end).toEqual(['failed', expect.stringContaining('in the middle of this turn')])
    const problem = "Session thread_1 can't be opened again after the lost connection, so its runs ended as failed"
    expect(errors).toEqual([`${problem}: ${url} refused: session thread_1 is archived.`])
  },
)

test('a lost session whose first turn Codex has not stored yet goes on', async () => {
  let refusals = 2
  const { end, errors } = await lostInMidTurn((method) => {
    if (method === 'thread/loaded/list') return { result: { data: ['thread_1'] } }
    if (method === 'thread/resume' && refusals-- > 0) return refusal
    const items = [{ type: 'agentMessage', id: 'item_1', text: 'It is done.' }]
    return method === 'thread/turns/list'
      ? { result: { data: [{ id: 'turn_1', status: 'completed', items }] } }
      : undefined
  })
  expect([end, errors]).toEqual([['completed', 'It is done.'], []])
})

test('a refused token is told without the token', async () => {
  listener = await replayListener('0.169.0/desk')
  const chat = connectSource(codex({ url: `${listener.url}/?key=hidden-key`, token: 'another-token' }))
  const error = await chat.ready.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  await chat.close()
  expect(error instanceof ReplyError && [error.type, error.message]).toEqual([
    'unauthorized',
    expect.stringContaining(`${listener.url} refused the token`),
  ])
  expect(String(error)).not.toMatch(/another-token|hidden-key/)
})

test.each<[CodexOptions, string]>([
  [{ token: 'x' }, 'A token needs the `url`'],
  [{ url: 'http://127.0.0.1' }, 'begins with ws:// or wss://'],
  [{ url: 'ws://127.0.0.1:1', args: ['-c', 'model="x"'] }, '`args` is for a program that is started'],
])('options that contradict each other are refused: %o', (options, message) => {
  expect(() => codex(options)).toThrow(message)
})
