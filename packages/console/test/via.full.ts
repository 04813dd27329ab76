import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { callTool, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { type PreparedOpencode, prepareOpencode } from '@reply/testing/internal'
import { afterAll, beforeAll, expect, test } from 'vitest'

const cli = fileURLToPath(new URL('../bin/reply.mjs', import.meta.url))
const scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  touch: {
    steps: [
      [sayText('I touch it.'), callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })],
      [sayText('I was not allowed to.')],
    ],
  },
}

let model: ScriptedModel
let opencode: PreparedOpencode

beforeAll(async () => {
  model = await startModel({ scripts })
  opencode = await prepareOpencode({ model, config: { permission: { bash: 'ask' } } })
})
afterAll(async () => {
  await opencode.remove()
  await model.close()
})

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command in the project's folder, without a terminal. */
async function reply(...args: readonly string[]): Promise<Ended> {
  const { env, directory: cwd } = opencode
  const child = spawn(process.execPath, [cli, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    said.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.stderr += chunk
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, ...said }
}

const agent = (): string => `'${opencode.command}' acp`

test('an agent is started in the current folder, answers, and ends with the command', async () => {
  const { code, stdout, stderr } = await reply('prompt', '--via', agent(), 'Hi [scenario:hello]', '--json')
  expect([code, stderr]).toEqual([0, ''])
  const settled = JSON.parse(stdout)
  expect(settled).toMatchObject({ outcome: 'completed', answer: 'Hello to you.' })
  expect(JSON.stringify(settled)).toContain(opencode.directory)
})

test('what it asks is rejected without a terminal, and nothing runs', async () => {
  const { code, stdout } = await reply('prompt', '--via', agent(), 'Touch it [scenario:touch]')
  expect(stdout).toContain('Rejected "bash: touch asked-for.txt"')
  expect(stdout).toContain('⊘ bash touch asked-for.txt · rejected')
  expect(code).toBe(0)
  expect(existsSync(join(opencode.directory, 'asked-for.txt'))).toBe(false)
})

test.each([
  ['no-such-agent', 'The command "no-such-agent" was not found.'],
  ['true', 'true exited with code 0 before it answered "initialize".'],
  ['', '"" names no agent. Give one of claude'],
])('says why the agent %j can not be used', async (via, words) => {
  const { code, stderr } = await reply('prompt', '--via', via, 'Hi')
  expect(stderr).toContain(words)
  expect(code).not.toBe(0)
})

test('an agent and a server are not both given', async () => {
  const { code, stderr } = await reply('prompt', '--via', 'claude', '--url', 'http://127.0.0.1:1', 'Hi')
  expect(code).toBe(2)
  expect(stderr).toContain('--via starts an agent and --url names a server')
})
