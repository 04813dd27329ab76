import { expect, test } from 'vitest'
import { parseConfig } from '../src/config/parse.ts'
import { warningsOf } from '../src/servers/safety.ts'

const warnings = (server: object, more: object = {}): readonly string[] => {
  const tg = { type: 'telegram', token: { env: 'TELEGRAM_TOKEN' } }
  return warningsOf(parseConfig({ servers: { home: server }, channels: { tg }, ...more }), 'home')
}
const url = 'http://127.0.0.1:4096'
const file = { tg: { type: 'telegram', token: { file: './token' } } }

test('a server of this computer without a password is warned about, with the cure', () => {
  expect(warnings({ url })).toEqual([
    'Every program and user of this computer can use http://127.0.0.1:4096, because it has no password. Start the server with OPENCODE_SERVER_PASSWORD, and set its `password` in the config.',
  ])
  expect(warnings({ url, password: { file: './password' } })).toEqual([])
  expect(warnings({ url: 'https://example.com', password: { file: './password' } })).toEqual([])
})

test('a Codex of this computer without a token is warned about, but not about an environment that it does not have', () => {
  const codex = { agent: 'codex', url: 'ws://127.0.0.1:4500', directory: '/srv/shop' }
  expect(warnings(codex)).toEqual([
    'Every program and user of this computer can use ws://127.0.0.1:4500, because it has no token. Start the server with `--ws-auth capability-token --ws-token-file <file>`, and set its `token` in the config.',
  ])
  expect(warnings({ ...codex, token: { env: 'CODEX_TOKEN' } })).toEqual([])
})

test('an AG-UI agent of this computer without a token is warned about', () => {
  const agent = { agent: 'ag-ui', url: 'http://127.0.0.1:8000/agent' }
  expect(warnings(agent)).toEqual([
    'Every program and user of this computer can use http://127.0.0.1:8000/agent, because it has no token. Start the server with a check of `authorization: Bearer <token>`, and set its `token` in the config.',
  ])
  expect(warnings({ ...agent, token: { env: 'TOKEN' } })).toEqual([])
})

test('an agent that runs beside the bridge can read its environment, so the variables are named', () => {
  const agent = { agent: 'opencode acp', directory: '/srv/shop' }
  expect(warnings(agent)).toEqual([
    'The agent of home runs as the same user, so commands that it runs can read TELEGRAM_TOKEN in this process\'s environment (/proc). Put these secrets into files outside its folder: { "file": "…" }.',
  ])
  expect(warnings(agent, { channels: file })).toEqual([])
})

test('`trustPrompt` names the people who need no one to run commands', () => {
  const people = {
    ann: { ids: ['tg:1'], may: ['prompt', 'approve'] },
    bob: { ids: ['tg:2'], may: ['prompt'] },
  }
  const trusting = { url, password: { file: './password' }, trustPrompt: true }
  expect(warnings(trusting, { people })).toEqual(['trustPrompt: bob can run commands on home without approval.'])
  expect(warnings(trusting, { people: { ann: people.ann } })).toEqual([])
})
