import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, type Reply, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeCodex } from '../../src/codex/decode/notification.ts'
import { codex } from '../../src/codex.ts'
import { recordingOf } from '../replay.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-agents-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A Codex that says these lines to the first turn, each one of ours once it was heard. */
function playing(name: string, threadID: string, lines: readonly object[]): string {
  const file = join(folder, name)
  const script = `#!${process.execPath}
const lines = ${JSON.stringify(lines)}
const results = { initialize: {}, 'thread/start': { thread: { id: ${JSON.stringify(threadID)} } } }
const say = (line) => console.log(JSON.stringify(line))
let at = 0
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const { id, method } = JSON.parse(text)
  if (method === 'initialized') return
  if (results[method]) return say({ id, result: results[method] })
  if (method === 'turn/start') {
    at += 1
    say({ id, result: { turn: { id: 'turn' } } })
  } else at += 1
  for (; lines[at] && lines[at].from !== 'us'; at++) say(lines[at].line)
})
`
  writeFileSync(file, script, { mode: 0o755 })
  return file
}

async function played(name: string, threadID: string, lines: readonly object[]): Promise<Reply> {
  const agent: Client = connectSource(codex({ command: playing(name, threadID, lines), graceMs: 200 }))
  const reply = await agent.prompt(
    { text: 'Go.' },
    { observe: () => [{ permissionAsked: ({ ask }) => void agent.answer(ask, 'once') }] },
  ).result
  await agent.close()
  return reply
}

async function recorded(name: string): Promise<Reply> {
  const lines = recordingOf('codex', name).filter(({ line }) => line.id !== 3 || line.method !== undefined)
  const [root = ''] = lines.flatMap(({ line: { params } }) =>
    typeof params === 'object' && params && 'threadId' in params ? [String(params.threadId)] : [],
  )
  return await played(name, root, lines)
}

test('a sub-agent that Codex names is a child of the reply by its name', async () => {
  const reply = await recorded('delegate-named')
  expect(reply.outcome).toBe('completed')
  const [task] = toolsOf(reply)
  expect(task).toMatchObject({ tool: 'task', state: { status: 'completed', input: { description: 'look' } } })
  expect(
    reply.children.map(({ callID, title, reply: child }) => [callID, title, child.outcome, textOf(child)]),
  ).toEqual([[task?.callID, 'look', 'completed', 'Hello there, nice to meet you.']])
})

test('a sub-agent of Codex is a child of the reply, with its own command and permission', async () => {
  const reply = await recorded('delegate')
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'The agent is done.'])
  const [task] = toolsOf(reply)
  expect(task).toMatchObject({ tool: 'task', state: { input: { description: '[scenario:child] Look around.' } } })
  expect(reply.children).toMatchObject([{ callID: task?.callID, title: '[scenario:child] Look around.' }])
  const child = reply.children[0]?.reply
  expect(child && [child.outcome, textOf(child), toolsOf(child).map(({ state }) => state.output)]).toEqual([
    'completed',
    'The child works.\n\nThe child is done.',
    ['child\n'],
  ])
  expect(reply.asks).toMatchObject([{ status: 'answered', path: [reply.sessionID, child?.sessionID] }])
})

const notice = (method: string, params: object) => ({ from: 'codex', line: { method, params } })
const call = (threadId: string, id: string, more: object) =>
  ['item/started', 'item/completed'].map((method) =>
    notice(method, {
      threadId,
      item: { type: 'collabAgentToolCall', id, status: 'completed', agentsStates: {}, prompt: null, ...more },
    }),
  )
const turn = (threadId: string, text: string) => [
  notice('turn/started', { threadId, turn: { id: `turn of ${threadId}` } }),
  notice('item/agentMessage/delta', { threadId, itemId: `${threadId} ${text}`, delta: text }),
  notice('turn/completed', { threadId, turn: { id: `turn of ${threadId}`, status: 'completed' } }),
]

test('a sub-agent that is given more to do is another child, and one may have its own', async () => {
  const states = { a: { status: 'completed', message: 'It is found.' }, b: { status: 'running', message: null } }
  const reply = await played('again', 'root', [
    { from: 'us', line: {} },
    notice('turn/started', { threadId: 'root', turn: { id: 'turn' } }),
    ...call('root', 'c1', { tool: 'spawnAgent', receiverThreadIds: ['a'], prompt: 'Look.\nEverywhere.' }),
    notice('turn/started', { threadId: 'a', turn: { id: 'turn of a' } }),
    ...call('a', 'c2', { tool: 'spawnAgent', receiverThreadIds: ['b'], prompt: 'Help.' }),
    ...turn('b', 'Helped.'),
    ...turn('a', 'Found.').slice(1),
    ...call('root', 'c3', { tool: 'sendInput', receiverThreadIds: ['a'], prompt: 'Look again.' }),
    ...turn('a', 'Found again.'),
    ...call('root', 'c4', { tool: 'wait', receiverThreadIds: ['a', 'b'], agentsStates: states }),
    // A thread that no call of ours started changes nothing.
    ...turn('stranger', 'Hello.'),
    notice('turn/completed', { threadId: 'root', turn: { id: 'turn', status: 'completed' } }),
  ])
  expect(reply.children.map(({ title, reply: child }) => [title, child.prompt?.text, textOf(child)])).toEqual([
    ['Look.', 'Look.\nEverywhere.', 'Found.'],
    ['Look again.', 'Look again.', 'Found again.'],
  ])
  expect(reply.children[0]?.reply.children.map(({ reply: child }) => textOf(child))).toEqual(['Helped.'])
  expect(toolsOf(reply).map(({ tool, state }) => [tool, state.input, state.output])).toEqual([
    ['task', { description: 'Look.', prompt: 'Look.\nEverywhere.' }, ''],
    ['send_input', { description: 'Look again.', prompt: 'Look again.' }, ''],
    ['wait', { agents: ['a', 'b'] }, 'completed: It is found.\nrunning'],
  ])
})

test('the title of a long task is its first line, cut between characters', () => {
  const item = {
    type: 'collabAgentToolCall',
    id: 'c1',
    tool: 'spawnAgent',
    status: 'inProgress',
    receiverThreadIds: ['t2'],
  }
  const said = decodeCodex('item/started', { threadId: 't1', item: { ...item, prompt: `a${'😀'.repeat(150)}\nMore.` } })
  expect(said?.type === 'tool' && said.task?.title).toBe(`a${'😀'.repeat(99)}`)
})
