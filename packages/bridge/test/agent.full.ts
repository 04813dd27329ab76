import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bridgeChannel } from '@reply/telegram/bridge'
import { callTool, holdAnswer, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { type PreparedOpencode, prepareOpencode } from '@reply/testing/internal'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Bridge } from '../src/bridge.ts'
import { openBridge } from '../src/open-bridge.ts'
import { checkBridge } from '../src/setup/check-bridge.ts'
import { question } from './scripts.ts'

const scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  again: { steps: [[sayText('Again, hello.')]] },
  question,
  touch: {
    steps: [
      [callTool('bash', { command: 'touch allowed.txt', description: 'Touch' })],
      [callTool('bash', { command: 'echo "token: $TOKEN."; ls', description: 'Look' })],
      [sayText('It is touched.')],
    ],
  },
  forever: { steps: [[sayText('On and on. '), holdAnswer('nobody releases this'), sayText('never.')]] },
}

const chat = 1000
let model: ScriptedModel
let opencode: PreparedOpencode
let telegram: FakeTelegram
let folder: string
let path: string
let bridge: Bridge
const errors: Error[] = []

beforeAll(async () => {
  model = await startModel({ scripts })
  opencode = await prepareOpencode({
    model,
    config: {
      permission: { bash: { '*': 'allow', 'touch *': 'ask' } },
      command: { words: { template: 'Say $ARGUMENTS [scenario:hello]' } },
    },
  })
  telegram = await startTelegram({
    token: '42:secret',
    chats: [
      { id: chat, type: 'private', title: 'Ann' },
      { id: 2, type: 'private', title: 'Bob' },
    ],
  })
  folder = mkdtempSync(join(tmpdir(), 'reply-agent-'))
  path = join(folder, 'reply.json')
  // An agent has the bridge's environment; this one needs a home of its own.
  const variables = Object.entries(opencode.env).map(([name, value]) =>
    value === undefined ? `unset ${name}` : `export ${name}='${value}'`,
  )
  const script = join(folder, 'opencode')
  writeFileSync(script, `#!/bin/sh\n${variables.join('\n')}\nexec '${opencode.command}' "$@"\n`, { mode: 0o755 })
  writeFileSync(
    path,
    JSON.stringify({
      servers: { home: { agent: `'${script}' acp`, directory: opencode.directory, trustPrompt: true } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
      people: {
        ann: { ids: [`tg:${chat}`], may: ['prompt', 'approve'] },
        bob: { ids: ['tg:2'], may: ['prompt'] },
      },
    }),
  )
  process.env.TOKEN = '42:secret'
  bridge = await openBridge({ path, load: async () => bridgeChannel, onError: (error) => errors.push(error) })
  await bridge.start()
})
beforeEach(() => {
  errors.length = 0
})
afterAll(async () => {
  await bridge.stop()
  delete process.env.TOKEN
  await telegram.close()
  await opencode.remove()
  await model.close()
  rmSync(folder, { recursive: true })
})

async function answered(words: string, id = chat) {
  return await new Promise<{ readonly messageId: number; readonly text: string }>((resolve) => {
    let stop = (): void => {}
    const look = (): void => {
      const found = telegram.screen(id).findLast((one) => one.from === 'bot' && one.text.includes(words))
      if (!found) return
      stop()
      resolve(found)
    }
    stop = telegram.observe(look)
    look()
  })
}

test('a command that an agent has not listed yet runs nothing by words of a person who may only prompt', async () => {
  const before = model.requests.length
  for (const [index, words] of ['/words !`touch injected.txt`', '/steer /words !`touch injected.txt`'].entries()) {
    telegram.say(2, words)
    const refusals = () => telegram.screen(2).filter(({ text: said }) => said.includes('without asking')).length
    await expect.poll(refusals, { timeout: 20_000 }).toBe(index + 1)
    expect(existsSync(join(opencode.directory, 'injected.txt'))).toBe(false)
  }
  expect(model.requests).toHaveLength(before)
  telegram.say(2, 'Hi [scenario:hello]')
  await answered('Hello to you.', 2)
  expect(errors).toEqual([])
})

test('an agent answers in the chat, goes on with its session, and asks', async () => {
  telegram.say(chat, 'Hi [scenario:hello]')
  await answered('Hello to you.')
  telegram.say(chat, 'Once more [scenario:again]')
  await answered('Again, hello.')
  telegram.say(chat, 'Ask [scenario:question]')
  const asked = await answered('Which colour?')
  telegram.press(chat, asked.messageId, 'Blue')
  await answered('As you like.')
  expect(errors).toEqual([])
})

test('it runs what is allowed, and has none of the bridge’s secrets', async () => {
  telegram.say(chat, 'Touch it [scenario:touch]')
  // The status names the command too. Allowing is offered once all of it is known to be on the screen.
  const ask = () =>
    telegram
      .screen(chat)
      .find(
        ({ text: shown, buttons }) =>
          shown.includes('touch allowed.txt') && buttons?.flat().some((button) => button.text === 'Allow once'),
      )
  await expect.poll(ask).toBeDefined()
  await telegram.press(chat, ask()?.messageId ?? 0, 'Allow once').settled
  await answered('It is touched.')
  const results = JSON.stringify(model.requests.at(-1)?.body)
  expect(results).toContain('allowed.txt')
  expect(results).toContain('token: .')
  expect(results).not.toContain('42:secret')
})

test('a stop ends its run', async () => {
  telegram.say(chat, 'Go on [scenario:forever]')
  await answered('On and on.')
  telegram.say(chat, '/stop')
  await answered('Stopped.')
  telegram.say(chat, 'Hello again [scenario:hello]')
  await expect.poll(() => telegram.screen(chat).filter((one) => one.text.includes('Hello to you.')).length).toBe(2)
})

test('--check starts it, and says what it can read and may do', async () => {
  const checked = await checkBridge({ path, load: async () => bridgeChannel, timeoutMs: 60_000 })
  const { found } = checked.find(({ part }) => part === 'server home') ?? {}
  expect(found).toContain('acp starts in')
  expect(found).toContain("can read TOKEN in this process's environment (/proc)")
  expect(found).toContain('bob can run commands on home without approval')
})

test('--check names the people that it can not be guarded against', async () => {
  const config = JSON.parse(readFileSync(path, 'utf8'))
  delete config.servers.home.trustPrompt
  const closed = join(folder, 'closed.json')
  writeFileSync(closed, JSON.stringify(config))
  const checked = await checkBridge({ path: closed, load: async () => bridgeChannel, timeoutMs: 60_000 })
  expect(checked.find(({ part }) => part === 'server home')).toMatchObject({
    isUsable: false,
    found: expect.stringMatching(/^bob can't prompt it\. .* Or set `trustPrompt`/),
  })
})
