import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ReplyError, textOf, toolsOf } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acpSource } from '../src/acp.ts'
import { claude } from '../src/claude.ts'
import { codex } from '../src/codex.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-bad-input-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/**
 * What all programs of this file do. Each defines `hear(line)`, which calls `play` with a prompt, and the functions that
 * write its lines: `begin`, `say` and `end` for a turn, `strange` for lines of unknown kinds, and `orphan` for a sub-agent
 * of a sub-agent of a session that was never announced.
 */
const shared = `
const print = (line) => process.stdout.write(JSON.stringify(line) + '\\n')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => hear(JSON.parse(line)))
const waiting = []
function play(session, text) {
  begin(session)
  if (text === 'half') process.stdout.write('{"type":"assistant","method":"item/agentMessage/delta","par\\n')
  if (text === 'unknown') strange(session)
  if (text === 'orphan') orphan(session)
  if (text === 'dies') {
    say(session, 'Half an answer.')
    return process.stdout.write('', () => setTimeout(() => process.exit(3), 20))
  }
  if (text === 'interleaved' && waiting.push(session) === turnsAtOnce) {
    for (const piece of ['One ', 'two ', 'three.']) for (const each of waiting) say(each, piece)
    for (const each of waiting) end(each)
  }
  if (text === 'interleaved') return
  say(session, 'All is well.')
  end(session)
}
`

interface BadAgent {
  readonly program: string
  readonly source: (command: string, onError: (error: ReplyError) => void) => Source
}

const acpProgram = (initialized: object, turn: string): string => `
const turnsAtOnce = 2
const answer = (id, result) => print({ jsonrpc: '2.0', id, result })
const update = (session, update) => print({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: session, update } })
const state = (session, state, more = {}) => update(session, { sessionUpdate: 'state_update', state, ...more })
const say = (session, text) =>
  update(session, { sessionUpdate: 'agent_message_chunk', messageId: 'm' + prompts.get(session), content: { type: 'text', text } })
const prompts = new Map()
let sessions = 0
function hear({ id, method, params }) {
  if (method === 'initialize') return answer(id, ${JSON.stringify(initialized)})
  if (method === 'session/list') return answer(id, { sessions: [] })
  if (method === 'session/new') return answer(id, { sessionId: 'ses_' + process.pid + '_' + ++sessions, configOptions: [] })
  if (method !== 'session/prompt') return
  prompts.set(params.sessionId, id)
  play(params.sessionId, params.prompt[0].text)
}
${turn}
function strange(session) {
  update(session, { sessionUpdate: 'telepathy_update', thought: 1 })
  print({ jsonrpc: '2.0', method: 'session/telepathy', params: { sessionId: session } })
  print({ jsonrpc: '2.0', id: 'x', method: 'session/telepathy', params: { sessionId: session } })
  print([1, 'two', null])
}
function orphan() {
  update('ses_child', { sessionUpdate: 'subagent_update', sessionId: 'ses_grandchild', state: { state: 'running' } })
  say('ses_grandchild', 'Stray.')
  update('ses_grandchild', { sessionUpdate: 'tool_call', toolCallId: 'stray', title: 'ls', kind: 'execute' })
}
`

const agents: Readonly<Record<string, BadAgent>> = {
  'Claude Code': {
    // Each session has a process.
    program: `
const turnsAtOnce = 1
function hear(line) {
  if (line.type === 'user') play('', line.message.content[0].text)
}
const begin = () => print({ type: 'system', subtype: 'init', model: 'one' })
const say = (_, text) =>
  print({ type: 'stream_event', event: { type: 'content_block_delta', delta: { type: 'text_delta', text } } })
const end = () => print({ type: 'result', subtype: 'success', result: 'Done.' })
function strange() {
  print({ type: 'telepathy', thought: 1 })
  print({ type: 'system', subtype: 'telepathy' })
  print({ type: 'control_request', request_id: 'x', request: { subtype: 'telepathy' } })
  print([1, 'two', null])
}
function orphan() {
  const parent_tool_use_id = 'call_of_a_child'
  const content = [{ type: 'text', text: 'Stray.' }]
  print({ type: 'system', subtype: 'task_started', task_id: 'grandchild', tool_use_id: 'stray', prompt: 'Go.' })
  print({ type: 'assistant', parent_tool_use_id: 'stray', message: { model: 'one', content } })
  print({ type: 'assistant', parent_tool_use_id, message: { model: 'one', content } })
  print({ type: 'system', subtype: 'task_notification', task_id: 'grandchild', status: 'completed', summary: 'Stray.' })
}`,
    source: (command, onError) => claude({ command, onError, graceMs: 200, env: { CLAUDE_CONFIG_DIR: folder } }),
  },
  Codex: {
    program: `
const turnsAtOnce = 2
let threads = 0
let turns = 0
const notify = (method, threadId, params) =>
  print({ method, params: { threadId, turnId: current.get(threadId), ...params } })
const current = new Map()
function hear({ id, method, params }) {
  if (method === 'thread/start') return print({ id, result: { thread: { id: 'thread ' + process.pid + ' ' + ++threads } } })
  if (method === 'turn/start') {
    current.set(params.threadId, 'turn ' + ++turns)
    print({ id, result: { turn: { id: current.get(params.threadId) } } })
    return play(params.threadId, params.input[0].text)
  }
  if (id !== undefined && method) print({ id, result: method === 'thread/list' ? { data: [] } : {} })
}
const begin = (thread) => notify('turn/started', thread, { turn: { id: current.get(thread) } })
const say = (thread, delta) => notify('item/agentMessage/delta', thread, { itemId: 'i' + current.get(thread), delta })
const end = (thread) => notify('turn/completed', thread, { turn: { id: current.get(thread), status: 'completed' } })
function strange(thread) {
  notify('item/telepathy', thread, { thought: 1 })
  notify('item/completed', thread, { item: { type: 'telepathy', id: 't' } })
  print({ id: 'x', method: 'item/telepathy', params: { threadId: thread } })
  print([1, 'two', null])
}
function orphan() {
  current.set('child', 'of the child').set('grandchild', 'of the grandchild')
  const spawned = { type: 'collabAgentToolCall', id: 'stray', tool: 'spawnAgent', receiverThreadIds: ['grandchild'] }
  notify('item/started', 'child', { item: { ...spawned, status: 'inProgress', prompt: 'Go.' } })
  begin('grandchild')
  say('grandchild', 'Stray.')
  end('grandchild')
}`,
    source: (command, onError) => codex({ command, onError }),
  },
  'ACP 1': {
    program: acpProgram(
      { protocolVersion: 1, agentCapabilities: {} },
      `const begin = () => {}
const end = (session) => answer(prompts.get(session), { stopReason: 'end_turn' })`,
    ),
    source: (command, onError) => acpSource({ command, onError, name: 'the agent', files: 'none' }),
  },
  'ACP 2': {
    program: acpProgram(
      { protocolVersion: 2, info: { name: 'scripted' }, capabilities: { session: {} } },
      `const begin = (session) => {
  answer(prompts.get(session), { messageId: 'prompt_' + prompts.get(session) })
  state(session, 'running')
}
const end = (session) => state(session, 'idle', { stopReason: 'end_turn' })`,
    ),
    source: (command, onError) => acpSource({ command, onError, name: 'the agent', files: 'none', protocol: 2 }),
  },
}

describe.each(Object.entries(agents))('bad input of %s', (name, { program, source }) => {
  const open = () => {
    const command = join(folder, name.replaceAll(' ', '-'))
    writeFileSync(command, `#!${process.execPath}\n${shared}${program}\n`, { mode: 0o755 })
    const errors: ReplyError[] = []
    const client = connectSource(source(command, (error) => errors.push(error)))
    return { client, errors }
  }

  test.each([
    { text: 'half', reports: ['malformed'] },
    { text: 'unknown', reports: undefined },
    { text: 'orphan', reports: undefined },
  ])('$text: the answer is whole, and so is that of another session', async ({ text, reports }) => {
    const { client, errors } = open()
    const other = client.prompt({ text: 'plain' })
    const reply = await client.prompt({ text }).result
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'All is well.'])
    expect([reply.children, reply.asks, toolsOf(reply)]).toEqual([[], [], []])
    const { outcome } = await other.result
    expect([outcome, textOf(await client.prompt({ text: 'plain', sessionID: reply.sessionID }).result)]).toEqual([
      'completed',
      'All is well.',
    ])
    if (reports) expect(errors.map(({ type }) => type)).toEqual(reports)
    await client.close()
  })

  test('interleaved: each turn has its own lines', async () => {
    const { client } = open()
    const replies = await Promise.all(['interleaved', 'interleaved'].map((text) => client.prompt({ text }).result))
    expect(replies.map((reply) => [reply.outcome, textOf(reply)])).toEqual([
      ['completed', 'One two three.'],
      ['completed', 'One two three.'],
    ])
    await client.close()
  })

  test('dies: the reply has failed and says how, and the next prompts are answered', async () => {
    const { client } = open()
    const reply = await client.prompt({ text: 'dies' }).result
    expect([reply.outcome, textOf(reply)]).toEqual(['failed', 'Half an answer.'])
    expect(reply.error?.message).toContain('code 3')
    expect(textOf(await client.prompt({ text: 'plain' }).result)).toBe('All is well.')
    await client.close()
  })
})
