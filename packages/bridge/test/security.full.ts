import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sayText } from '@reply/testing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const bobs = [2, 2001, 2002, 2003, 2004, 2005]

let stage: BridgeStage
let at = -1
let chat = 0

beforeAll(async () => {
  stage = await startStage({
    scripts: { hello: { steps: [[sayText('Hello to you.')]] } },
    commands: {
      // Neither has a description.
      compare: { template: 'Compare `$1`touch injected.txt` with $2 [scenario:hello]' },
      look: { template: 'Look at @$1 [scenario:hello]' },
      words: { template: 'Say $ARGUMENTS [scenario:hello]' },
    },
    people: {
      ann: { ids: ['tg:1'], may: ['prompt', 'approve'] },
      bob: { ids: bobs.map((id) => `tg:${id}`), may: ['prompt'] },
    },
    chats: [1, ...bobs].map((id) => ({ id, type: 'private', title: id === 1 ? 'Ann' : 'Bob' }) as const),
  })
  await stage.start()
})
beforeEach(() => {
  chat = bobs[++at] ?? expect.fail('Bob has too few chats.')
  stage.errors.length = 0
})
afterAll(async () => await stage.close())

const injected = (): boolean => existsSync(join(stage.server.directory, 'injected.txt'))
const refusals = (): number => stage.said(chat).filter((said) => said.includes('without asking')).length

test('a command of the agent runs nothing and reads nothing by words of a person who may only prompt', async () => {
  for (const [index, words] of [
    '/init !`touch injected.txt`',
    '/init @/etc/hostname',
    // Its own quote is closed, and the template's words run.
    '/compare a! b',
    '/look /etc/hostname',
    '/words see @/etc/hostname',
  ].entries()) {
    stage.telegram.say(chat, words)
    await stage.seen(chat, () => refusals() === index + 1)
  }
  expect(stage.said(chat).at(-1)).toContain('Someone with the right approve can send it')
  expect(injected()).toBe(false)
  expect(stage.errors).toEqual([])
})

test('words alone run the command, also one without a description', async () => {
  stage.telegram.say(chat, '/words all is well')
  await stage.seen(chat, (screen) => screen.some((message) => message.text.includes('Hello to you.')))
  await stage.stored('Say all is well')
  expect(refusals()).toBe(0)
})

test('/commands lists all of them', async () => {
  stage.telegram.say(chat, '/commands')
  const { text: list } = await stage.seen(chat, (screen) => screen.find(({ text: said }) => said.includes('/compare')))
  for (const line of [/\/init: .+/, /\/look$/m, /\/words$/m]) expect(list).toMatch(line)
})

test('a person who may approve runs what the arguments make of it', async () => {
  stage.telegram.say(1, '/compare a! b')
  await stage.seen(1, (screen) => screen.some((message) => message.text.includes('Hello to you.')))
  expect(injected()).toBe(true)
})

test('a template that changes before the prompt is posted is judged anew', async () => {
  await stage.stop()
  let asked = 0
  await stage.start({
    connectTo: (opencode) => ({
      ...opencode,
      commands: async () => {
        asked += 1
        return asked === 1 ? [{ name: 'look', template: 'Look at $1' }] : await opencode.commands()
      },
    }),
  })
  stage.telegram.say(chat, '/look /etc/hostname')
  await stage.seen(chat, () => refusals() === 1)
  expect(stage.said(chat).join()).not.toContain('Hello')
  expect(asked).toBe(2)
})
