import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentNames } from '../src/agent-source.ts'
import { type AgentSourceOptions, agentSource } from '../src/index.ts'

/** Speaks just enough of the Agent Client Protocol to say how it was started. */
const program = `#!/usr/bin/env node
const { createInterface } = require('node:readline')
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
let servers
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') say({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
  else if (method === 'session/new') {
    servers = params.mcpServers
    say({ id, result: { sessionId: 'one' } })
  }
  else if (method === 'session/prompt') {
    const start = [process.cwd(), process.argv.slice(2), process.env.ADDED, process.env.REMOVED]
    const text = JSON.stringify(process.argv[2] === 'servers' ? servers : start)
    const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }
    say({ method: 'session/update', params: { sessionId: 'one', update } })
    say({ id, result: { stopReason: 'end_turn' } })
  } else if (id !== undefined) say({ id, error: { code: -32601, message: 'Method not found' } })
})
`

let folder: string

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'reply agents ')))
  writeFileSync(join(folder, 'my agent'), program)
  chmodSync(join(folder, 'my agent'), 0o755)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What the agent says of its start: folder, arguments and two variables. */
async function startedBy(line: string, options: AgentSourceOptions = {}): Promise<unknown> {
  const agent = connectSource(agentSource(line, { cwd: folder, ...options }))
  const reply = await agent.prompt({ text: 'How were you started?' }).result
  await agent.close()
  return JSON.parse(textOf(reply))
}

test('a command line is started in its folder, with quoted words whole and the environment as given', async () => {
  process.env.REMOVED = 'yes'
  const line = `'${join(folder, 'my agent')}' acp "two words" --flag`
  const said = await startedBy(line, { env: { ADDED: 'yes', REMOVED: undefined } })
  delete process.env.REMOVED
  expect(said).toEqual([folder, ['acp', 'two words', '--flag'], 'yes', null])
})

test('an agent that speaks the protocol gets MCP servers, and those with settings of their own refuse them', async () => {
  const mcpServers = [{ name: 'reply', command: 'reply-tools', args: ['--embed'], env: [] }]
  expect(await startedBy(`'${join(folder, 'my agent')}' servers`, { mcpServers })).toEqual(mcpServers)
  expect(agentSource('gemini', { mcpServers }).name).toBe('gemini')
  expect(agentSource('codex --acp', { mcpServers }).name).toBe('codex')
  for (const line of ['claude', 'codex'])
    expect(() => agentSource(line, { mcpServers })).toThrow(`${line} reads its MCP servers from its own settings.`)
})

test('no shell reads it', async () => {
  const said = await startedBy(`'${join(folder, 'my agent')}' $HOME ; echo`)
  expect(said).toEqual([folder, ['$HOME', ';', 'echo'], null, null])
})

test('agents are known by their names', () => {
  expect(agentNames).toEqual(['claude', 'codex', 'gemini'])
  expect(agentSource(' claude ').name).toBe('claude')
  expect(agentSource('codex').name).toBe('codex')
  expect(agentSource('gemini').name).toBe('gemini')
})

test('what follows a name is passed on, unless it asks for the protocol', () => {
  expect(agentSource('claude --model opus').name).toBe('claude')
  expect('agentInfo' in agentSource('claude --model opus')).toBe(false)
  expect('agentInfo' in agentSource('gemini --experimental-acp')).toBe(true)
  expect('agentInfo' in agentSource('gemini --model flash')).toBe(true)
  expect('agentInfo' in agentSource('codex-acp')).toBe(true)
})

test('a Codex that runs already is reached at its address, and other agents have none', () => {
  const url = 'ws://127.0.0.1:4500'
  expect(agentSource('codex', { url, token: 'secret', cwd: '/shop' })).toMatchObject({ name: url, isLocal: false })
  expect(() => agentSource('codex -c x', { url })).toThrow('`args` is for a program that is started')
  for (const line of ['claude', 'opencode acp', 'codex --acp'])
    expect(() => agentSource(line, { url })).toThrow('is started, so it has no `url` and no `token`')
})

test.each(['', '   '])('%j names no agent', (line) => {
  expect(() => agentSource(line)).toThrow(/names no agent. Give one of claude.*"opencode acp"/)
})
