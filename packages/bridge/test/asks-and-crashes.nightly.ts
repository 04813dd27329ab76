import type { Client } from '@reply/core'
import { type Scripts, sayText, until } from '@reply/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { placeKey } from '../src/place.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { question, slowIn } from './scripts.ts'
import { keyOfChat } from './shard-rows.ts'
import { type BridgeStage, crowdIn, startStage } from './stage.ts'

const chats = Array.from({ length: 12 }, (_, index) => 501 + index)
const groupOf = (chat: number): number => -1000 - chat

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  question,
  ...slowIn(chats),
}

let stage: BridgeStage
let chat = 500
let group = 0
const bob = { id: 2, name: 'Bob' }
const cat = { id: 3, name: 'Cat' }

beforeAll(async () => {
  stage = await startStage({ scripts, ...crowdIn(chats, chats.map(groupOf)) })
})
beforeEach(() => {
  chat += 1
  group = groupOf(chat)
  stage.errors.length = 0
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

test('a question is answered by the one who asked the agent, and by no other prompter', async () => {
  await stage.start()
  stage.telegram.say(group, '@fake_bot ask [scenario:question]', { from: bob })
  const asked = await stage.answered(group, 'Which colour?')
  expect(asked.mentions).toEqual([2])
  const refused = await stage.telegram.press(group, asked.messageId, 'Blue', { from: cat }).settled
  expect(refused.text).toBe(
    'You can’t answer this: it requires the right `approve`. The bridge’s operator can add it to your rights.',
  )
  stage.telegram.press(group, asked.messageId, 'Blue', { from: bob })
  await stage.answered(group, 'As you like.')
})

test('an ask of a session that two chats show is closed in both', async () => {
  await stage.start()
  stage.telegram.say(chat, 'Ask [scenario:question]')
  const asked = await stage.answered(chat, 'Which colour?')
  stage.telegram.say(chat, '/current')
  const [session = ''] = /ses_\w+/.exec((await stage.answered(chat, 'ses_')).text) ?? []
  const other = chats.at(-1) ?? 0
  stage.telegram.say(other, `/switch ${session}`)
  await stage.answered(other, 'This chat now continues')
  stage.telegram.say(other, 'And hello [scenario:hello]')
  const there = await stage.answered(other, 'Which colour?')
  stage.telegram.press(other, there.messageId, 'Blue')
  const closed = await stage.seen(chat, (screen) => {
    return screen.find(({ messageId, buttons }) => messageId === asked.messageId && buttons.length === 0)
  })
  expect(closed.text).toContain('Blue')
})

test('a person decides, also much later, about a run that may have begun', async () => {
  await stage.start()
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  const working = await stage.answered(chat, 'One moment')
  await stage.stop()
  stage.model.release(`middle${chat}`)
  await stage.start({
    connectTo: (opencode): Client => ({ ...opencode, resume: async () => ({ type: 'unknown' }) }),
  })
  const asked = await stage.answered(chat, 'Run it again?')
  // The message of the run is closed above the question, and what had come of the answer stays.
  const closed = await stage.answered(chat, 'lost track of this run')
  expect([working.messageId, closed.messageId, asked.messageId]).toEqual(
    [working.messageId, closed.messageId, asked.messageId].toSorted((a, b) => a - b),
  )
  const [kept] = stage.telegram.screen(chat).filter(({ messageId }) => messageId === working.messageId)
  expect(kept?.text).toContain('One moment')
  await stage.stop()
  await stage.start({ aheadMs: 7_200_000, router: { backlogAfterMs: 86_400_000 } })
  stage.telegram.press(chat, asked.messageId, 'Run it again')
  await stage.answered(chat, 'Queued to run.')
  await stage.answered(chat, 'One moment, done.')
})

test('files that were sent together are one prompt, also when the run before ends meanwhile', async () => {
  await stage.start()
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  const file = (name: string) => ({ albumId: `album${chat}`, file: { name, bytes: Buffer.from(`This is ${name}.`) } })
  stage.telegram.say(chat, 'Read these [scenario:hello]', file('one.txt'))
  await stage.answered(chat, 'Queued, number 1.')
  stage.model.release(`middle${chat}`)
  await stage.answered(chat, 'One moment, done.')
  stage.telegram.say(chat, '', file('two.txt'))
  await stage.answered(chat, 'Hello to you.')
  stage.telegram.say(chat, '/list')
  const list = await stage.answered(chat, 'Recent executions')
  expect(list.text.match(/Complete/g)).toHaveLength(2)
})

test('files that were sent together steer as one prompt', async () => {
  const prompts: unknown[] = []
  await stage.start({
    router: { busy: 'steer' },
    connectTo: (opencode) => ({
      ...opencode,
      prompt: (input, more) => {
        prompts.push(input)
        return opencode.prompt(input, more)
      },
    }),
  })
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  const file = (name: string) => ({ albumId: `album${chat}`, file: { name, bytes: Buffer.from(`This is ${name}.`) } })
  stage.telegram.say(chat, 'Read these [scenario:hello]', file('one.txt'))
  stage.telegram.say(chat, '', file('two.txt'))
  await until(() => prompts.length === 2)
  stage.model.release(`middle${chat}`)
  await stage.answered(chat, 'Hello to you.')
  expect(prompts).toMatchObject([{}, { files: [{}, {}] }])
})

test('a typed answer is written down as one before it goes to the server', async () => {
  const place = { channel: 'tg', chat: { id: String(chat) } }
  const stored: unknown[] = []
  await stage.start({
    connectTo: (opencode) => ({
      ...opencode,
      answer: async (ask, answer) => {
        const store = await sqliteStore({ folder: stage.folder })
        const [entry] = await store.queue(keyOfChat(place, `inbox/${placeKey(place)}`))
        stored.push(JSON.parse(entry?.value ?? '{}'))
        await store.close()
        await opencode.answer(ask, answer)
      },
    }),
  })
  stage.telegram.say(chat, 'Ask [scenario:question]')
  await stage.answered(chat, 'Which colour?')
  stage.telegram.say(chat, 'blue')
  await stage.answered(chat, 'As you like.')
  expect(stored).toMatchObject([{ text: 'blue', isAnswer: true }])
  await stage.stop()
  // As if the process had died right after the server took the answer.
  const store = await sqliteStore({ folder: stage.folder })
  const [entry] = stored
  const queue = keyOfChat(place, `inbox/${placeKey(place)}`)
  await store.commit([{ type: 'enqueue', queue, id: 'again', value: JSON.stringify(entry) }])
  await store.close()
  await stage.start()
  stage.telegram.say(chat, '/list')
  const list = await stage.answered(chat, 'Recent executions')
  expect(list.text.match(/Complete/g)).toHaveLength(1)
})

test('words of a person that come after an answer and a restart are the next prompt', async () => {
  await stage.start()
  stage.telegram.say(chat, 'Ask [scenario:question]')
  await stage.answered(chat, 'Which colour?')
  await stage.stop()
  await stage.start({
    connectTo: (opencode) => ({
      ...opencode,
      // The press reached the server from the process before, and this one does not know it yet.
      answer: async (ask, answer) => {
        await opencode.answer(ask, [['Blue']])
        await opencode.answer(ask, answer)
      },
    }),
  })
  stage.telegram.say(chat, 'Now say hello [scenario:hello]')
  await stage.answered(chat, 'As you like.')
  await stage.answered(chat, 'Hello to you.')
  expect(stage.said(chat).join()).not.toContain('already resolved')
})

test('a stop that is handled again after a crash leaves the prompt after it alone', async () => {
  await stage.start()
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  await stage.stop()
  const store = await sqliteStore({ folder: stage.folder })
  const stop = {
    ...{ id: 'stop', channel: 'tg', chat: { id: String(chat), kind: 'private' } },
    ...{ actor: { id: String(chat), name: 'Ann' }, text: '/stop', files: [], isCommand: true },
    ...{ messageRef: { id: '1' }, receivedAt: Date.now() - 60_000 },
  }
  const place = { channel: 'tg', chat: { id: String(chat) } }
  const queue = keyOfChat(place, `inbox/${placeKey(place)}`)
  await store.commit([{ type: 'enqueue', queue, id: 'stop', value: JSON.stringify(stop) }])
  await store.close()
  await stage.start()
  await stage.answered(chat, 'may or may not have run')
  stage.model.release(`middle${chat}`)
  await stage.answered(chat, 'One moment, done.')
})
