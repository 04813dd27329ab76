import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { callTool, type Scripts, sayText } from '@reply/testing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { question } from './scripts.ts'
import { type BridgeStage, crowdIn, startStage } from './stage.ts'

const chats = Array.from({ length: 7 }, (_, index) => 701 + index)
const fileOf = (chat: number): string => `allowed${chat}.txt`

const scripts: Scripts = {
  question,
  hello: { steps: [[sayText('Hello to you.')]] },
  ...Object.fromEntries(
    chats.flatMap((chat) => {
      const command = `touch ${fileOf(chat)}`
      return [
        [
          `touch${chat}`,
          { steps: [[callTool('bash', { command, description: 'Touch' })], [sayText('It is touched.')]] },
        ],
      ]
    }),
  ),
}

const bob = { id: 2, name: 'Bob' }
const cat = { id: 3, name: 'Cat' }
const group = -1007

let stage: BridgeStage
let chat = 700

beforeAll(async () => {
  stage = await startStage({ scripts, ...crowdIn(chats, [group], ['approve']) })
  await stage.start()
})
beforeEach(() => {
  chat += 1
  stage.errors.length = 0
})
afterAll(async () => await stage.close())

const withButton = async (id: number, label: string) =>
  await stage.seen(id, (screen) =>
    screen.findLast(({ buttons }) => buttons.flat().some((button) => button.text === label)),
  )
const times = (id: number, words: string): number => stage.said(id).filter((said) => said.includes(words)).length
const isTouched = (): boolean => existsSync(join(stage.server.directory, fileOf(chat)))

/** Nothing is left to press, nothing runs, and the next prompt is answered. */
async function isOver(id: number): Promise<void> {
  await expect.poll(stage.isAtRest).toBe(true)
  stage.telegram.say(id, id === group ? '@fake_bot hi [scenario:hello]' : 'Hi [scenario:hello]')
  await stage.answered(id, 'Hello to you.')
  expect(stage.telegram.screen(id).flatMap(({ buttons }) => buttons.flat().map((one) => one.text))).not.toContain(
    'Allow once',
  )
}

test.each(['Allow', '/stop'])('a permission and a stop at once, %s first, leave nothing to hang', async (first) => {
  stage.telegram.say(chat, `Touch [scenario:touch${chat}]`)
  const { messageId } = await withButton(chat, 'Allow once')
  const allow = () => stage.telegram.press(chat, messageId, 'Allow once')
  const stop = () => stage.telegram.say(chat, '/stop')
  const [one, two] = first === 'Allow' ? [allow, stop] : [stop, allow]
  one()
  two()
  await stage.seen(chat, (screen) => screen.some(({ text: said }) => /^(⏹️ )?(Stopped|Nothing is running)/m.test(said)))
  await isOver(chat)
  expect(times(chat, 'Hello to you.')).toBe(1)
  expect(times(chat, 'It is touched.')).toBeLessThanOrEqual(1)
  // What was allowed first may have run before the stop.
  if (first === '/stop') expect(isTouched()).toBe(false)
  expect(stage.errors).toEqual([])
})

test('a permission that a stop closed names the person who stopped', async () => {
  stage.telegram.say(chat, `Touch [scenario:touch${chat}]`)
  const { messageId } = await withButton(chat, 'Allow once')
  stage.telegram.say(chat, '/stop')
  const { text: said } = await stage.seen(chat, (screen) =>
    screen.find((message) => message.messageId === messageId && message.buttons.length === 0),
  )
  expect(said).toContain('Rejected · Ann')
  await isOver(chat)
})

test('a button that is pressed three times at once answers once', async () => {
  stage.telegram.say(chat, `Touch [scenario:touch${chat}]`)
  const { messageId } = await withButton(chat, 'Allow once')
  const presses = [1, 2, 3].map(() => stage.telegram.press(chat, messageId, 'Allow once').settled)
  const [, ...again] = (await Promise.all(presses)).map(({ text: said }) => said)
  expect(again).toEqual([1, 2].map(() => expect.stringMatching(/^This was already resolved/)))
  await stage.answered(chat, 'It is touched.')
  await isOver(chat)
  expect(times(chat, 'It is touched.')).toBe(1)
  expect(stage.errors).toEqual([])
})

test('of two people who answer at once the first is heard and named, and the other is told', async () => {
  stage.telegram.say(group, '@fake_bot ask [scenario:question]', { from: bob })
  const { messageId } = await withButton(group, 'Blue')
  stage.telegram.press(group, messageId, 'Blue', { from: bob })
  const late = await stage.telegram.press(group, messageId, 'Red', { from: cat }).settled
  expect(late.text).toMatch(/^This was already resolved/)
  await stage.answered(group, 'As you like.')
  await stage.answered(group, 'Blue · Bob')
  expect(times(group, 'As you like.')).toBe(1)
  expect(stage.errors).toEqual([])
})

test('a typed answer of 1 MB is refused, and the question stays open', async () => {
  stage.telegram.say(chat, 'Ask [scenario:question]')
  await withButton(chat, 'Blue')
  stage.telegram.say(chat, '😀'.repeat(250_000))
  await stage.answered(chat, 'The limit is 50,000')
  stage.telegram.say(chat, 'Blue')
  await stage.answered(chat, 'As you like.')
  expect(stage.errors).toEqual([])
})
