import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LocalRun } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

const group = -100_500
/** A person's messages in all of them count together. */
const crowd = Array.from({ length: 22 }, (_, index) => -100_600 - index)
const [ann, bob, eve] = [
  { id: 1, name: 'Ann' },
  { id: 2, name: 'Bob' },
  { id: 66, name: 'Eve' },
]

let open: HandDriven
/** The run of a prompt that ends when the test says so. */
let held: LocalRun | undefined

beforeAll(async () => {
  open = await startHandDriven(
    (run, text) => {
      if (text === 'slowly') held = run
      else answer(run, `You said: ${text}.`)
    },
    { groups: [group, ...crowd], router: { messagesPerMinute: 20, maxTextLength: 2000, maxFileBytes: 1000 } },
  )
})
afterAll(async () => await open.chats.close())

const answered = async (chat: number, words: string): Promise<string> => {
  const find = (): string | undefined => open.said(chat).find((text) => text.includes(words))
  await open.passes(() => find() !== undefined)
  return find() ?? expect.fail(`Nobody said "${words}".`)
}

/** Other tests wrote, too. */
const anotherMinute = async (): Promise<void> => {
  const now = open.clock.now()
  await open.passes(() => open.clock.now() > now + 61_000)
}

test('a run can be looked up only in its own chat', async () => {
  const { telegram, said } = open
  telegram.say(1, 'the plan is secret')
  await answered(1, 'You said: the plan is secret.')
  telegram.say(1, '/list')
  const [, id = ''] = /• (\w+)/.exec(await answered(1, 'Recent executions')) ?? []
  for (const command of ['status', 'logs']) telegram.say(2, `/${command} ${id}`)
  telegram.say(2, '/list')
  telegram.say(2, '/sessions')
  await answered(2, 'No recent executions in this chat.')
  await answered(2, 'This chat has no sessions yet.')
  expect(said(2).filter((text) => text === `Unknown execution ID: ${id}`)).toHaveLength(2)
  expect(said(2).join()).not.toContain('secret')
  telegram.say(1, `/logs ${id.slice(0, 3)}`)
  await answered(1, '[stdout] You said: the plan is secret.')
})

test('a person without the right admin neither stops nor edits what is another’s', async () => {
  const { telegram, heard } = open
  telegram.say(group, '@fake_bot slowly', { from: ann })
  await open.passes(() => held !== undefined)
  telegram.say(group, '@fake_bot hello', { from: ann })
  await answered(group, 'Queued, number 1.')
  telegram.say(group, '/stop', { from: bob })
  await answered(group, 'That belongs to Ann. It requires the right admin.')
  telegram.say(2, '/queue')
  await answered(2, 'Nothing is waiting.')
  telegram.say(group, '/queue edit 1 Other words', { from: bob })
  telegram.say(group, '/queue drop 1', { from: bob })
  telegram.say(group, '/queue', { from: bob })
  await answered(group, 'Waiting:')
  if (held) answer(held, 'One moment, done.')
  await answered(group, 'One moment, done.')
  await answered(group, 'You said: hello.')
  expect(heard.slice(-2)).toEqual(['slowly', 'hello'])
})

test('a group is heard only where it speaks to the bot, and strangers are refused there', async () => {
  const { telegram, said, heard } = open
  const before = said(group).length
  telegram.say(group, 'Lunch?', { from: bob })
  telegram.say(group, '@fake_bot rm -rf /', { from: eve })
  await answered(group, 'telegram:66')
  // What came before would be answered before this.
  telegram.say(group, '@fake_bot and now', { from: bob })
  await answered(group, 'You said: and now.')
  expect(said(group)).toHaveLength(before + 2)
  expect(heard).not.toContain('rm -rf /')
})

test('a message that the platform delivers twice runs once', async () => {
  const { telegram, clock, heard } = open
  const message = {
    ...{ message_id: 777_777, date: Math.floor(clock.now() / 1000), text: 'just once' },
    ...{ chat: { id: 2, type: 'private' }, from: { id: 2, is_bot: false, first_name: 'Bob' } },
  }
  telegram.push('message', message)
  telegram.push('message', message)
  // A second run would come before this one.
  telegram.say(2, 'more')
  await answered(2, 'You said: more.')
  expect(heard.filter((text) => text === 'just once')).toHaveLength(1)
})

test('a text that is too long, and too many messages, are refused', async () => {
  const { telegram, said, heard } = open
  await anotherMinute()
  telegram.say(2, 'x'.repeat(2001))
  await answered(2, 'The limit is 2,000')
  for (const chat of crowd) telegram.say(chat, '/help', { from: bob })
  await open.passes(() => crowd.every((chat) => said(chat).length > 0))
  expect(crowd.filter((chat) => said(chat).join().startsWith('Too many messages in a minute.'))).toHaveLength(2)
  expect(heard.some((text) => text.startsWith('xx'))).toBe(false)
})

test('a file that is too large is not passed on', async () => {
  const { telegram, heard, chats } = open
  telegram.say(1, 'too big', { file: { name: 'big.txt', bytes: Buffer.alloc(1001, 'x') } })
  expect(await answered(1, 'big.txt')).toContain('the limit is 1 kB')
  telegram.say(1, 'small enough', { file: { name: 'fits.txt', bytes: Buffer.alloc(1000, 'x') } })
  await answered(1, 'You said: small enough.')
  expect(heard).not.toContain('too big')
  expect(chats.errors.splice(0).map(({ name }) => name)).toEqual(['FileFailure'])
})

test('other users of the computer can not read the state', async () => {
  const home = mkdtempSync(join(tmpdir(), 'reply-state-'))
  const folder = join(home, 'state')
  const store = await sqliteStore({ folder })
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'bridge.db')).mode & 0o777).toBe(0o600)
  await store.close()
  rmSync(home, { recursive: true })
})
