import { callTool, holdAnswer, reportUsage, type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { question, slowIn } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const chats = Array.from({ length: 5 }, (_, index) => 951 + index)
const long = Array.from({ length: 1200 }, (_, index) => `Line ${index} of a long answer, which goes on.`).join('\n\n')

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  again: { steps: [[sayText('Again, hello.')]] },
  long: { steps: [[sayText(`${long}\n\nThe end of it.`)]] },
  question,
  compacted: { steps: [[sayText('This gets long.')]], summary: [holdAnswer('by hand'), sayText('It was long.')] },
  full: {
    steps: [
      [
        sayText('I begin.'),
        callTool('bash', { command: 'echo begun', description: 'Begin' }),
        reportUsage(195_000, 500),
      ],
    ],
    summary: [holdAnswer('summary'), sayText('It was begun. [scenario:after]')],
  },
  after: { steps: [[sayText('After the compaction: done.')]] },
  ...slowIn(chats),
}

const ann = { ids: chats.map((id) => `tg:${id}`), may: ['prompt', 'approve'] }
const bob = { ids: ['tg:2'], may: ['prompt'] }
const group = -1_951

let stage: BridgeStage
let chat = 950

beforeAll(async () => {
  stage = await startStage({
    scripts,
    people: { ann, bob },
    channel: { texts: { notForYou: 'That is not yours to answer.' } },
    chats: [
      ...chats.map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
      { id: group, type: 'supergroup', title: 'Shop' },
    ],
  })
})
beforeEach(() => {
  chat += 1
  stage.errors.length = 0
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const answered = async (words: string, id = chat) => await stage.answered(id, words)

test('a reply to a later message of a long answer continues its session', async () => {
  await stage.start()
  stage.telegram.say(chat, 'At length [scenario:long]')
  const { messageId } = await answered('The end of it.')
  const first = stage.telegram.screen(chat).find(({ text: said }) => said.includes('Line 0 '))
  expect(first?.messageId).not.toBe(messageId)
  stage.telegram.say(chat, '/current')
  const [session = 'none'] = /ses_\w+/.exec((await answered('Session:')).text) ?? []
  stage.telegram.say(chat, '/new')
  await answered('starts a new session')
  stage.telegram.say(chat, 'More [scenario:again]', { replyTo: messageId })
  await answered('Again, hello.')
  const before = stage.said(chat).length
  stage.telegram.say(chat, '/current')
  expect(await stage.seen(chat, () => stage.said(chat)[before])).toContain(session)
})

test('what a person who left the config wrote is not run', async () => {
  await stage.start()
  stage.telegram.say(group, '@fake_bot slowly [scenario:slow951]', { from: { id: 2, name: 'Bob' } })
  await stage.model.held('middle951')
  stage.telegram.say(group, '@fake_bot hi [scenario:hello]', { from: { id: 2, name: 'Bob' } })
  await answered('Queued, number 1.', group)
  await stage.stop()
  await stage.start({ people: { ann: { ...ann, ids: [...ann.ids, 'tg:1'] } } })
  stage.model.release('middle951')
  await answered('One moment, done.', group)
  stage.telegram.say(group, '@fake_bot hi [scenario:again]', { from: { id: 1, name: 'Ann' } })
  await answered('Again, hello.', group)
  expect(stage.said(group).join()).not.toContain('Hello to you.')
})

test('the words of the config are those that people read', async () => {
  await stage.start()
  stage.telegram.say(group, '@fake_bot ask me [scenario:question]', { from: { id: chat, name: 'Ann' } })
  const asked = await stage.seen(group, (screen) =>
    screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Blue')),
  )
  const pressed = await stage.telegram.press(group, asked.messageId, 'Blue', { from: { id: 2, name: 'Bob' } }).settled
  expect(pressed.text).toBe('That is not yours to answer.')
})

test('a message does not interrupt a compaction: it runs after it', async () => {
  await stage.start({ router: { busy: 'interrupt' } })
  stage.telegram.say(chat, 'Fill it [scenario:full]')
  await stage.model.held('summary')
  // The bridge hears of it a moment after the model does.
  await answered('Compacting')
  stage.telegram.say(chat, 'And then [scenario:again]')
  stage.telegram.say(chat, '/queue')
  await answered('1. And then')
  stage.model.release('summary')
  await answered('After the compaction: done.')
  await answered('Again, hello.')
  expect(stage.errors).toEqual([])
})

test('a prompt that comes while the history is compacted by hand runs after that, once', async () => {
  await stage.start()
  stage.telegram.say(chat, 'Talk [scenario:compacted]')
  await answered('This gets long.')
  // An answer is shown a moment before its run is over, and a run at work is not compacted.
  await expect
    .poll(async () => {
      const before = stage.said(chat).length
      stage.telegram.say(chat, '/compact')
      return await stage.seen(chat, () => stage.said(chat).at(before))
    })
    .toContain('being compacted')
  await stage.model.held('by hand')
  stage.telegram.say(chat, 'Go on [scenario:again]')
  await stage.stored('Go on')
  stage.model.release('by hand')
  await answered('Again, hello.')
  stage.telegram.say(chat, '/list')
  await answered('Recent executions')
  expect(stage.said(chat).filter((words) => words.includes('Again, hello.'))).toHaveLength(1)
  expect(stage.errors).toEqual([])
})
