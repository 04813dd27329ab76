import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { hold, type Scripts, text } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = {
  hello: { steps: [[text('Hello to you.')]] },
  again: { steps: [[text('Again, hello.')]] },
  secret: { steps: [[text('The plan is secret.')]] },
  slow: { steps: [[text('One moment'), hold('middle'), text(', done.')]] },
}

const group = -100_500
const eve = { id: 66, name: 'Eve' }
const bob = { id: 2, name: 'Bob' }

let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({
    scripts,
    router: { messagesPerMinute: 20, maxTextLength: 2000, maxFileBytes: 1000 },
    chats: [
      { id: 1, type: 'private', title: 'Ann' },
      { id: 2, type: 'private', title: 'Bob' },
      { id: 5, type: 'private', title: 'Flo' },
      { id: group, type: 'supergroup', title: 'Shop' },
    ],
    people: {
      ann: { ids: ['tg:1'], may: ['prompt', 'approve', 'admin'] },
      bob: { ids: ['tg:2'], may: ['prompt'] },
      flo: { ids: ['tg:5'], may: ['prompt'] },
    },
  })
  await stage.start()
})
afterAll(async () => await stage.close())

const answered = async (chatId: number, words: string): Promise<string> =>
  await stage.seen(
    chatId,
    (screen) => screen.find(({ from, text: said }) => from === 'bot' && said.includes(words))?.text,
  )

test('a run can be looked up only in its own chat', async () => {
  stage.telegram.say(1, 'Plan [scenario:secret]')
  await answered(1, 'The plan is secret.')
  stage.telegram.say(1, '/list')
  const [, id = ''] = /• (\w+)/.exec(await answered(1, 'Recent executions')) ?? []
  for (const command of ['status', 'logs']) stage.telegram.say(2, `/${command} ${id}`)
  stage.telegram.say(2, '/list')
  stage.telegram.say(2, '/sessions')
  await answered(2, 'No recent executions in this chat.')
  await answered(2, 'No session was used in this chat yet.')
  expect(stage.said(2).filter((said) => said === `Unknown execution ID: ${id}`)).toHaveLength(2)
  expect(stage.said(2).join()).not.toContain('secret')
  stage.telegram.say(1, `/logs ${id.slice(0, 3)}`)
  await answered(1, '[stdout] The plan is secret.')
})

test('a person without the right admin neither stops nor edits what is another’s', async () => {
  stage.telegram.say(group, '@fake_bot slowly [scenario:slow]', { from: { id: 1, name: 'Ann' } })
  await stage.model.held('middle')
  stage.telegram.say(group, '@fake_bot hello [scenario:hello]', { from: { id: 1, name: 'Ann' } })
  await answered(group, 'Queued, number 1.')
  stage.telegram.say(group, '/stop', { from: bob })
  await answered(group, "That is Ann's. It takes the right `admin`.")
  stage.telegram.say(2, '/queue')
  await answered(2, 'Nothing is waiting.')
  stage.telegram.say(group, '/queue edit 1 Other words [scenario:again]', { from: bob })
  stage.telegram.say(group, '/queue drop 1', { from: bob })
  stage.telegram.say(group, '/queue', { from: bob })
  await answered(group, 'Waiting:')
  stage.model.release('middle')
  await answered(group, 'One moment, done.')
  await answered(group, 'Hello to you.')
})

test('a group is heard only where it speaks to the bot, and strangers are refused there', async () => {
  const before = stage.said(group).length
  stage.telegram.say(group, 'Lunch? [scenario:hello]', { from: bob })
  stage.telegram.say(group, '@fake_bot rm -rf / [scenario:hello]', { from: eve })
  await answered(group, 'tg:66')
  // What came before would be answered before this.
  stage.telegram.say(group, '@fake_bot and now [scenario:again]', { from: bob })
  await answered(group, 'Again, hello.')
  expect(stage.said(group)).toHaveLength(before + 2)
})

test('a message that the platform delivers twice runs once', async () => {
  const date = Math.floor(Date.now() / 1000)
  const message = {
    ...{ message_id: 777_777, date, text: 'Hello [scenario:hello]' },
    ...{ chat: { id: 2, type: 'private' }, from: { id: 2, is_bot: false, first_name: 'Bob' } },
  }
  stage.telegram.push('message', message)
  stage.telegram.push('message', message)
  stage.telegram.say(2, '/list')
  await answered(2, 'Recent executions')
  const count = (): number => stage.said(2).filter((said) => said.includes('Hello to you.')).length
  // A second run would come before this one.
  stage.telegram.say(2, 'More [scenario:again]')
  await answered(2, 'Again, hello.')
  expect(count()).toBe(1)
})

test('a text that is too long, and too many messages, are refused', async () => {
  stage.telegram.say(5, 'x'.repeat(2001))
  await answered(5, 'at most 2,000 are taken')
  for (let count = 0; count < 22; count++) stage.telegram.say(5, '/help')
  await answered(5, 'Too many messages in a minute.')
})

test('a file that is too large is not passed on', async () => {
  stage.telegram.say(1, 'Read it [scenario:again]', { file: { name: 'big.txt', bytes: Buffer.alloc(1001, 'x') } })
  expect(await answered(1, 'big.txt')).toContain('1000 bytes')
  stage.telegram.say(1, 'Read it [scenario:hello]', { file: { name: 'fits.txt', bytes: Buffer.alloc(1000, 'x') } })
  await answered(1, 'Hello to you.')
  expect(stage.said(1).join()).not.toContain('Again')
  expect(stage.errors.splice(0).map(({ name }) => name)).toEqual(['FileFailure'])
})

test('other users of the computer can not read the state', () => {
  expect(statSync(stage.folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(stage.folder, 'bridge.db')).mode & 0o777).toBe(0o600)
})

test('a command of the agent runs nothing and reads nothing by words of a person who may only prompt', async () => {
  stage.telegram.say(2, '/init !`touch injected.txt`')
  await answered(2, 'without asking')
  stage.telegram.say(2, '/init @/etc/hostname')
  await stage.seen(2, () => stage.said(2).filter((said) => said.includes('without asking')).length === 2)
  expect(existsSync(join(stage.server.directory, 'injected.txt'))).toBe(false)
  expect(stage.errors).toEqual([])
})
