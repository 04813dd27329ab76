import { type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { question, slowIn } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const count = 12
const chats = Array.from({ length: count }, (_, index) => 201 + index)
const groupOf = (chat: number): number => -1000 - chat

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  again: { steps: [[sayText('Again, hello.')]] },
  question,
  ...slowIn(chats),
}

let stage: BridgeStage
let chat = 200
let group = 0
const ann = { id: 1, name: 'Ann' }
const bob = { id: 2, name: 'Bob' }

beforeAll(async () => {
  stage = await startStage({
    scripts,
    people: {
      ann: { ids: ['tg:1', ...chats.map((id) => `tg:${id}`)], may: ['prompt', 'approve'] },
      bob: { ids: ['tg:2'], may: ['prompt'] },
    },
    chats: [
      ...chats.map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
      ...chats.map((id) => ({ id: groupOf(id), type: 'supergroup', title: 'Shop' }) as const),
    ],
  })
})
beforeEach(() => {
  chat += 1
  group = groupOf(chat)
  stage.errors.length = 0
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const answered = async (id: number, words: string): Promise<string> =>
  await stage.seen(id, (screen) => screen.find(({ from, text: said }) => from === 'bot' && said.includes(words))?.text)

test('to interrupt is for one’s own runs: another person’s message waits', async () => {
  await stage.start({ router: { busy: 'interrupt' } })
  stage.telegram.say(group, `@fake_bot slowly [scenario:slow${chat}]`, { from: ann })
  await stage.model.held(`middle${chat}`)
  stage.telegram.say(group, '@fake_bot hi [scenario:hello]', { from: bob })
  await answered(group, 'Queued, number 1.')
  stage.model.release(`middle${chat}`)
  await answered(group, 'Hello to you.')
  expect(stage.said(group).join()).toContain('One moment, done.')
})

test('one’s own message interrupts, and runs next', async () => {
  await stage.start({ router: { busy: { '*': 'queue', tg: 'steer', [`tg:${chat}`]: 'interrupt' } } })
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  stage.telegram.say(chat, 'Rather this [scenario:hello]')
  await answered(chat, 'Hello to you.')
  expect(stage.said(chat).join()).not.toContain(', done.')
  expect(stage.said(chat).join()).not.toContain('Aborted')
})

test('messages that come before a new session is known do not steer: they stay in it, in order', async () => {
  await stage.start({ router: { busy: 'steer' } })
  stage.telegram.say(chat, 'First [scenario:hello]')
  stage.telegram.say(chat, 'Second [scenario:again]')
  await answered(chat, 'Again, hello.')
  stage.telegram.say(chat, '/sessions')
  const list = await answered(chat, 'Sessions:')
  expect(list).toContain('1.')
  expect(list).not.toContain('2.')
})

test('a session that was deleted is replaced, and only that is said', async () => {
  await stage.start()
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await answered(chat, 'Hello to you.')
  stage.telegram.say(chat, '/current')
  const [, id = ''] = /(ses_\w+)/.exec(await answered(chat, 'ses_')) ?? []
  const address = new URL(`/session/${id}`, stage.server.url)
  address.searchParams.set('directory', stage.server.directory)
  await fetch(address, { method: 'DELETE' })
  stage.telegram.say(chat, 'Again [scenario:again]')
  await answered(chat, 'Again, hello.')
  const said = stage.said(chat).join('\n')
  expect(said).toContain('The session no longer exists')
  expect(said).not.toContain('Failed')
})

test('without progress, asks are rejected and never shown', async () => {
  await stage.start({ router: { progress: { enabled: false } } })
  stage.telegram.say(chat, 'Ask [scenario:question]')
  await answered(chat, 'so this one was rejected')
  expect(stage.said(chat).join()).not.toContain('Which colour?')
})

test('an ask that stays unanswered is rejected, after a reminder', async () => {
  await stage.start({ router: { askTimeoutMs: 3000 } })
  stage.telegram.say(chat, 'Ask [scenario:question]')
  await answered(chat, 'still waiting for an answer')
  await answered(chat, 'No answer within 3s')
})

test('of many old messages all are listed, and only their author may run or drop them', async () => {
  for (let index = 1; index <= 10; index++)
    stage.telegram.say(group, `@fake_bot number ${index} [scenario:hello]`, { from: ann })
  await stage.start({ aheadMs: 600_000, router: { backlog: 'none', messagesPerMinute: 3 } })
  const list = await stage.seen(group, (screen) => screen.find(({ text: said }) => said.includes('10. number 10')))
  const refused = await stage.telegram.press(group, list.messageId, 'Run 2', { from: bob }).settled
  expect(refused.text).toBe('That message is no longer in the list.')
  const dropped = await stage.telegram.press(group, list.messageId, 'Leave them', { from: bob }).settled
  expect(dropped.text).toBe('These messages are from other people, who decide about them.')
  stage.telegram.press(group, list.messageId, 'Run 2', { from: ann })
  await answered(group, 'Hello to you.')
})

test('what is written after the start does not overtake what was written before', async () => {
  stage.telegram.push('message', {
    ...{ message_id: 700_000, date: Math.floor(Date.now() / 1000) - 60, text: 'First [scenario:hello]' },
    ...{ chat: { id: chat, type: 'private' }, from: { id: chat, is_bot: false, first_name: 'Ann' } },
  })
  await stage.start({ router: { backlog: 'all', backlogAfterMs: 3000 } })
  stage.telegram.say(chat, 'Second [scenario:again]')
  await answered(chat, 'Again, hello.')
  const said = stage.said(chat).join()
  expect(said.indexOf('Hello to you.')).toBeLessThan(said.indexOf('Again, hello.'))
  expect(said).toContain('Hello to you.')
})

test('what was sent to steer a run that has ended is a prompt of its own', async () => {
  await stage.start()
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  const text = '/steer Also this [scenario:hello]'
  stage.telegram.push('message', {
    ...{ message_id: 700_000, date: Math.floor(Date.now() / 1000) - 60, text },
    ...{ chat: { id: chat, type: 'private' }, from: { id: chat, is_bot: false, first_name: 'Ann' } },
    entities: [{ type: 'bot_command', offset: 0, length: 6 }],
  })
  await answered(chat, 'Queued, number 1.')
  stage.model.release(`middle${chat}`)
  await answered(chat, 'Hello to you.')
  expect(stage.said(chat)).toContain('One moment, done.')
  expect(stage.errors).toEqual([])
})

test('a stop is heard however much a person has written', async () => {
  await stage.start({ router: { messagesPerMinute: 2 } })
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  stage.telegram.say(chat, '/help')
  stage.telegram.say(chat, '/help')
  await answered(chat, 'Too many messages')
  stage.telegram.say(chat, '/stop')
  await answered(chat, 'Stopped.')
})
