import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@reply/core'
import {
  callTool,
  launchOpencode,
  type OpencodeServer,
  type ScriptedModel,
  type Scripts,
  sayText,
  startModel,
} from '@reply/testing'
import { afterAll, beforeAll, type TestContext, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { type Platform, startPlatform } from './platforms.ts'
import { question } from './scripts.ts'

// Telegram's are in ask-races.full.ts.
const shared = ['slack', 'discord'] as const
const names = [...shared, 'whatsapp'] as const

/** What is allowed, stopped, or refused in each test. */
const kinds = ['twice', 'stopped', 'refused'] as const
const fileOf = (kind: string, name: string): string => `${kind}-${name}.txt`

const scripts: Scripts = {
  question,
  hello: { steps: [[sayText('Hello to you.')]] },
  ...Object.fromEntries(
    kinds.flatMap((kind) =>
      names.map((name) => {
        const filePath = fileOf(kind, name)
        return [
          `${kind}${name}`,
          { steps: [[callTool('write', { filePath, content: 'x' })], [sayText(`It is touched: ${kind}.`)]] },
        ]
      }),
    ),
  ),
}

let model: ScriptedModel
let server: OpencodeServer
let platforms: readonly Platform[]
let chats: Chats

beforeAll(async () => {
  model = await startModel({ scripts })
  const config = { permission: { edit: 'ask' }, extra: { snapshot: false } } as const
  server = await launchOpencode({ model, config })
  platforms = await Promise.all(names.map((name) => startPlatform(name)))
  const { url, directory } = server
  chats = await startChats({ platforms, connectTo: () => connect({ url, directory }) })
  await chats.start()
})
afterAll(async () => {
  await chats.close()
  await server.stop()
  await model.close()
})

type Expect = TestContext['expect']

function stageOf(name: (typeof names)[number], expect: Expect) {
  const platform = platforms.find((one) => one.name === name) ?? expect.fail()
  const times = (words: string): number => platform.texts().filter((said) => said.includes(words)).length
  const alone = (words: string): number => platform.told().filter((told) => told.startsWith(words)).length
  return {
    ...{ name, platform, times, alone, expect },
    isTouched: (kind: string) => existsSync(join(server.directory, fileOf(kind, name))),
    said: async (words: string) => await expect.poll(() => times(words)).toBeGreaterThan(0),
    offered: async (label: string) => await expect.poll(() => platform.labels()).toContain(label),
  }
}

type Stage = ReturnType<typeof stageOf>

async function pressTwice({ name, platform, times, alone, said, offered, isTouched, expect }: Stage): Promise<void> {
  platform.say('ann', `Touch [scenario:twice${name}]`)
  await offered('Allow once')
  await Promise.all([platform.press('ann', 'Allow once'), platform.press('ann', 'Allow once')])
  await said('It is touched: twice.')
  expect(isTouched('twice')).toBe(true)
  expect(times('It is touched: twice.')).toBe(1)
  // WhatsApp answers in the chat.
  if (name === 'whatsapp') await said('already resolved')
  else await expect.poll(() => alone('This was already resolved')).toBe(1)
}

async function pressAsAnother({ name, platform, alone, offered, isTouched, expect }: Stage): Promise<void> {
  platform.say('bob', `Touch [scenario:refused${name}]`)
  await offered('Allow once')
  await platform.press('bob', 'Allow once')
  await expect.poll(() => alone('You can’t answer this: it requires the right ')).toBe(1)
  await platform.press('ann', 'Reject')
  await expect.poll(() => platform.labels()).not.toContain('Reject')
  expect(isTouched('refused')).toBe(false)
}

async function answerBoth({ platform, times, alone, said, offered, expect }: Stage): Promise<void> {
  platform.say('bob', 'Ask [scenario:question]')
  await offered('Blue')
  const before = alone('This was already resolved')
  await Promise.all([platform.press('bob', 'Blue'), platform.press('ann', 'Red')])
  await said('As you like.')
  expect(times('As you like.')).toBe(1)
  await expect.poll(() => alone('This was already resolved')).toBe(before + 1)
}

async function allowAndStop({ name, platform, times, said, offered, expect }: Stage): Promise<void> {
  platform.say('ann', `Touch [scenario:stopped${name}]`)
  await offered('Allow once')
  const pressed = platform.press('ann', 'Allow once')
  platform.say('ann', '/stop')
  await pressed
  await expect.poll(() => platform.texts().some((words) => /^(⏹️ )?(Stopped|Nothing)/m.test(words))).toBe(true)
  await expect.poll(() => platform.labels()).not.toContain('Allow once')
  platform.say('ann', 'Hi [scenario:hello]')
  await said('Hello to you.')
  expect(times('It is touched: stopped.')).toBeLessThanOrEqual(1)
}

test.concurrent.for(shared)(
  'presses, answers and stops that race count once, each by who may: %s',
  async (name, { expect }) => {
    const stage = stageOf(name, expect)
    for (const race of [pressTwice, pressAsAnother, answerBoth, allowAndStop]) await race(stage)
    expect(chats.errors).toEqual([])
  },
)

// A chat there has one person, and takes a message in six seconds.
test.concurrent('a button that is pressed twice at once answers once: whatsapp', async ({ expect }) => {
  await pressTwice(stageOf('whatsapp', expect))
})
