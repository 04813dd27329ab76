import { callTool, type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { slowIn } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const chats = Array.from({ length: 8 }, (_, index) => 601 + index)
const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  again: { steps: [[sayText('Again, hello.')]] },
  touch: {
    steps: [
      [sayText('I touch it.'), callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })],
      [sayText('So be it.')],
    ],
  },
  ...slowIn(chats),
}

let stage: BridgeStage
let chat = 600

beforeAll(async () => {
  stage = await startStage({
    scripts,
    people: { ann: { ids: chats.map((id) => `tg:${id}`), may: ['prompt', 'approve'] } },
    chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
  })
})
beforeEach(() => {
  chat += 1
  stage.errors.length = 0
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const answered = async (words: string) => await stage.answered(chat, words)

test('what waits runs after a stop, and after a run that timed out', async () => {
  await stage.start({ router: { timeoutMs: 6000 } })
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  stage.telegram.say(chat, 'Then this [scenario:hello]')
  await answered('Queued, number 1.')
  stage.telegram.say(chat, '/stop')
  await answered('Stopped.')
  await answered('Hello to you.')
  chat += 1
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  stage.telegram.say(chat, 'Then this [scenario:again]')
  await answered('Again, hello.')
})

test('/interrupt stops what runs and says so itself', async () => {
  await stage.start()
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  stage.telegram.say(chat, '/interrupt')
  await answered('Interrupted.')
  expect(stage.said(chat).join()).not.toContain('Aborted')
})

test('receipts name the run, where the config asks for them', async () => {
  await stage.start({ router: { receipts: true } })
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  const { text: receipt } = await answered('Started · ')
  await answered('Hello to you.')
  const id = receipt.split(' ').at(-1) ?? ''
  stage.telegram.say(chat, `/status ${id}`)
  await answered(`· ${id}`)
})

test('a permission without an answer is rejected with a message, and the agent goes on', async () => {
  await stage.start({ router: { askTimeoutMs: 3000 } })
  stage.telegram.say(chat, 'Touch it [scenario:touch]')
  await answered('No answer within 3s')
  await answered('So be it.')
})

test('sessions are listed in pages, turned by buttons', async () => {
  await stage.start({ router: { messagesPerMinute: 100 } })
  for (let index = 1; index <= 9; index++) {
    stage.telegram.say(chat, `/new Number ${index}`)
    stage.telegram.say(chat, `Hi ${index} [scenario:hello]`)
    await stage.seen(chat, () => stage.said(chat).filter((said) => said === 'Hello to you.').length === index)
  }
  stage.telegram.say(chat, '/sessions')
  const list = await answered('Sessions, page 1 of 2')
  stage.telegram.press(chat, list.messageId, 'Older ›')
  const second = await answered('Sessions, page 2 of 2')
  expect([second.messageId, second.text.includes('9. Number 1')]).toEqual([list.messageId, true])
  stage.telegram.press(chat, list.messageId, '‹ Newer')
  await answered('Sessions, page 1 of 2')
})

test('a run is forgotten an hour after its end, and one that runs never is', async () => {
  await stage.start()
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await answered('Hello to you.')
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  await stage.stop()
  await stage.start({ aheadMs: 3_700_000, router: { backlogAfterMs: 86_400_000 } })
  stage.telegram.say(chat, '/list')
  const { text: list } = await answered('Recent executions')
  expect([list.match(/⏳ Running/g)?.length, list.includes('✅')]).toEqual([1, false])
  stage.model.release(`middle${chat}`)
  await answered('One moment, done.')
})
