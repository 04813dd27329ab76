import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, type Reply, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeNotification } from '../../src/codex/decode/notification.ts'
import { codex } from '../../src/codex.ts'
import { recordingOf } from '../replay.ts'
import { type ReplayedLine, writeProgram } from './replay-program.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-agents-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function played(name: string, lines: readonly ReplayedLine[]): Promise<Reply> {
  const command = join(folder, name)
  writeProgram(command, lines)
  const agent: Client = connectSource(codex({ command, graceMs: 200 }))
  const reply = await agent.prompt(
    { text: 'Go.' },
    { observe: () => [{ permissionAsked: ({ ask }) => void agent.answer(ask, 'once') }] },
  ).result
  await agent.close()
  return reply
}

const recorded = async (name: string): Promise<Reply> => await played(name, recordingOf('codex', name))

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

const turnOf = (threadId: string) => `turn of ${threadId}`
const notice = (method: string, params: { readonly threadId: string; readonly [field: string]: unknown }) => ({
  from: 'codex',
  line: { method, params: { turnId: turnOf(params.threadId), ...params } },
})
const begin = (threadId: string) => notice('turn/started', { threadId, turn: { id: turnOf(threadId) } })
const end = (threadId: string) =>
  notice('turn/completed', { threadId, turn: { id: turnOf(threadId), status: 'completed' } })
/** Our prompt, and the response that names its turn. */
const prompted = (threadId: string) => [
  { from: 'us', line: { id: 3, method: 'turn/start', params: { threadId } } },
  { from: 'codex', line: { id: 3, result: { turn: { id: turnOf(threadId) } } } },
  begin(threadId),
]
const call = (threadId: string, id: string, more: object) =>
  ['item/started', 'item/completed'].map((method) =>
    notice(method, {
      threadId,
      item: { type: 'collabAgentToolCall', id, status: 'completed', agentsStates: {}, prompt: null, ...more },
    }),
  )
const say = (threadId: string, delta: string) =>
  notice('item/agentMessage/delta', { threadId, itemId: `${threadId} ${delta}`, delta })
const turn = (threadId: string, text: string) => [begin(threadId), say(threadId, text), end(threadId)]

test('a sub-agent that is given more to do is another child, and one may have its own', async () => {
  const states = { a: { status: 'completed', message: 'It is found.' }, b: { status: 'running', message: null } }
  const reply = await played('again', [
    ...prompted('root'),
    ...call('root', 'c1', { tool: 'spawnAgent', receiverThreadIds: ['a'], prompt: 'Look.\nEverywhere.' }),
    begin('a'),
    ...call('a', 'c2', { tool: 'spawnAgent', receiverThreadIds: ['b'], prompt: 'Help.' }),
    ...turn('b', 'Helped.'),
    ...turn('a', 'Found.').slice(1),
    ...call('root', 'c3', { tool: 'sendInput', receiverThreadIds: ['a'], prompt: 'Look again.' }),
    ...turn('a', 'Found again.'),
    ...call('root', 'c4', { tool: 'wait', receiverThreadIds: ['a', 'b'], agentsStates: states }),
    // A thread that no call of ours started changes nothing.
    ...turn('stranger', 'Hello.'),
    end('root'),
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
  const said = decodeNotification('item/started', {
    threadId: 't1',
    turnId: 'u',
    item: { ...item, prompt: `a${'😀'.repeat(150)}\nMore.` },
  })
  expect(said?.type === 'event' && said.event.type === 'call' && said.event.task?.title).toBe(`a${'😀'.repeat(99)}`)
})

test('what a sub-agent does before the call that names it is known is not lost', async () => {
  const reply = await played('early', [
    ...prompted('root'),
    ...turn('a', 'Found.'),
    ...call('root', 'c1', { tool: 'spawnAgent', receiverThreadIds: ['a'], prompt: 'Look.' }),
    end('root'),
  ])
  expect(reply.children.map(({ callID, reply: child }) => [callID, child.outcome, textOf(child)])).toEqual([
    ['c1', 'completed', 'Found.'],
  ])
})

test('a turn of Codex itself that begins while a prompt is on its way does not end its reply', async () => {
  const [sent, response] = prompted('root')
  if (!sent || !response) throw new Error('There is no prompt.')
  const own = { threadId: 'root', turnId: 'own' }
  const reply = await played('own', [
    sent,
    notice('turn/started', { ...own, turn: { id: 'own' } }),
    notice('item/agentMessage/delta', { ...own, itemId: 'i', delta: 'Before it.' }),
    response,
    notice('turn/completed', { ...own, turn: { id: 'own', status: 'completed' } }),
    ...turn('root', 'The answer.'),
  ])
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Before it.\n\nThe answer.'])
})

const ownTurn = { threadId: 'root', turnId: 'own' }
const ownBegins = notice('turn/started', { ...ownTurn, turn: { id: 'own' } })
const ownSays = (text: string) => notice('item/agentMessage/delta', { ...ownTurn, itemId: `own ${text}`, delta: text })
const ownEnds = notice('turn/completed', { ...ownTurn, turn: { id: 'own', status: 'completed' } })
const response = (turnID: string, id = 3) => ({ from: 'codex', line: { id, result: { turn: { id: turnID } } } })
const firstPrompt = [...prompted('root'), say('root', 'The first answer.'), end('root')]
const next = { threadId: 'root', turnId: 'next' }
const nextPrompt = {
  from: 'us',
  line: { id: 4, method: 'turn/start', params: { threadId: 'root', clientUserMessageId: 'of-next' } },
}
const nextTurn = [
  notice('turn/started', { ...next, turn: { id: 'next' } }),
  notice('item/agentMessage/delta', { ...next, itemId: 'next', delta: 'The answer.' }),
  notice('turn/completed', { ...next, turn: { id: 'next', status: 'completed' } }),
]
const takesPrompt = notice('item/started', {
  ...ownTurn,
  item: { type: 'userMessage', id: 'm', clientId: 'of-next', content: [{ type: 'text', text: 'Go on.' }] },
})

test.each([
  [
    'its turn begins after the response',
    [ownBegins, nextPrompt, response('next', 4), ownSays('Own.'), ownEnds, ...nextTurn],
  ],
  [
    'its turn begins before the response',
    [
      ownBegins,
      nextPrompt,
      ...nextTurn.slice(0, 1),
      ownSays('Own.'),
      response('next', 4),
      ownEnds,
      ...nextTurn.slice(1),
    ],
  ],
  [
    "Codex's own turn takes it",
    [ownBegins, nextPrompt, response('own', 4), ownSays('Own.'), takesPrompt, ownSays('The answer.'), ownEnds],
  ],
  [
    "Codex's own turn takes it, before the response",
    [ownBegins, nextPrompt, ownSays('Own.'), takesPrompt, response('own', 4), ownSays('The answer.'), ownEnds],
  ],
])('a prompt that is sent when a turn of Codex itself has begun gets its whole answer: %s', async (name, lines) => {
  const command = join(folder, `before ${name}`)
  writeProgram(command, [...firstPrompt, ...lines])
  const agent = connectSource(codex({ command, graceMs: 200 }))
  const { sessionID } = await agent.prompt({ text: 'Go.' }).result
  const reply = await agent.prompt({ text: 'Go on.', sessionID }).result
  await agent.close()
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Own.\n\nThe answer.'])
})
