import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { question } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  again: { steps: [[sayText('Again, hello.')]] },
  question,
  permission: {
    steps: [
      [sayText('I touch it.'), callTool('write', { filePath: 'asked-for.txt', content: 'x' })],
      [sayText('Done so.')],
    ],
  },
  slow: { steps: [[sayText('One moment'), holdAnswer('middle'), sayText(', done.')]] },
  forever: { steps: [[sayText('This never ends, and goes on. '), holdAnswer('forever'), sayText('never.')]] },
}

const forum = -1_005
let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({
    scripts,
    chats: [
      { id: 1, type: 'private', title: 'Ann' },
      { id: 2, type: 'private', title: 'Bob' },
      { id: 3, type: 'private', title: 'Eve' },
      { id: forum, type: 'supergroup', title: 'Shop', topics: [7] },
    ],
  })
  await stage.start()
})
afterAll(async () => await stage.close())

const answered = (chatId: number, words: string): Promise<true> =>
  stage.seen(chatId, (screen) => screen.some(({ from, text: said }) => from === 'bot' && said.includes(words)))

test('answers a prompt in its chat', async () => {
  stage.telegram.say(1, 'Say hello [scenario:hello]')
  await answered(1, 'Hello to you.')
  stage.telegram.say(1, '/status')
  await answered(1, '✅ Complete')
  expect(stage.errors).toEqual([])
})

test('tells a stranger how to be added, and runs nothing', async () => {
  stage.telegram.say(3, 'Say hello [scenario:hello]')
  await answered(3, 'tg:3')
  expect(stage.said(3)).toHaveLength(1)
  const address = new URL('/session', stage.server.url)
  address.searchParams.set('directory', stage.server.directory)
  const sessions = JSON.stringify(await (await fetch(address)).json())
  stage.telegram.say(3, 'Again [scenario:hello]')
  stage.telegram.say(1, '/help')
  await answered(1, '/status')
  expect(JSON.stringify(await (await fetch(address)).json())).toBe(sessions)
})

test('runs the prompts of a chat one after the other', async () => {
  stage.telegram.say(2, 'Slowly [scenario:slow]')
  await stage.model.held('middle')
  stage.telegram.say(2, 'Then again [scenario:again]')
  stage.telegram.say(2, '/queue')
  await answered(2, '1. Then again')
  stage.model.release('middle')
  await answered(2, 'Again, hello.')
  const said = stage.said(2)
  expect(said.findIndex((one) => one.includes('One moment, done.'))).toBeLessThan(
    said.findIndex((one) => one.includes('Again, hello.')),
  )
})

test('passes a typed answer on to the question', async () => {
  stage.telegram.say(1, 'Ask me [scenario:question]')
  await answered(1, 'Which colour?')
  stage.telegram.say(1, 'blue')
  await answered(1, 'As you like.')
})

test('an old button in a topic still answers, though the platform no longer tells the topic', async () => {
  const ann = { id: 1000, name: 'Ann' }
  stage.telegram.say(forum, '@fake_bot ask me [scenario:question]', { from: ann, threadId: 7 })
  const asked = await stage.seen(forum, (screen) =>
    screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Blue')),
  )
  await stage.telegram.press(forum, asked.messageId, 'Blue', { from: ann, isInaccessible: true }).settled
  await answered(forum, 'As you like.')
})

test('lets only an approver allow a permission', async () => {
  stage.telegram.say(2, 'Touch it [scenario:permission]')
  const asked = await stage.seen(2, (screen) =>
    screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once')),
  )
  const pressed = await stage.telegram.press(2, asked.messageId, 'Allow once').settled
  expect(pressed.text).toBe(
    'You can’t answer this: it requires the right `approve`. The bridge’s operator can add it to your rights.',
  )
  await answered(2, 'No one in this chat can allow that')
  stage.telegram.say(2, '/stop')
  await answered(2, 'Stopped.')
  expect(existsSync(join(stage.server.directory, 'asked-for.txt'))).toBe(false)
})

test('stops what runs, and says so itself', async () => {
  stage.telegram.say(1, 'Go on [scenario:forever]')
  await stage.model.held('forever')
  stage.telegram.say(1, '/stop')
  await answered(1, 'Stopped.')
  stage.telegram.say(1, '/list')
  await answered(1, 'Recent executions (this chat):')
})
