import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Day, startDay } from './day.ts'
import { question } from './scripts.ts'

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  again: { steps: [[sayText('Again, hello.')]] },
  ordered: { steps: [[sayText('In order.')]] },
  third: { steps: [[sayText('For the third time.')]] },
  question,
  touch: {
    steps: [
      [sayText('I touch it.'), callTool('bash', { command: 'touch mirrored.txt', description: 'Touch' })],
      [sayText('It is touched.')],
    ],
  },
  forever: { steps: [[sayText('On and on. '), holdAnswer('forever'), sayText('never.')]] },
  slow: { steps: [[sayText('One moment'), holdAnswer('slow'), sayText(', done.')]] },
}

const ann = { from: { id: 'U1', name: 'Ann' } }
const bob = { from: { id: 'U2', name: 'Bob' } }
const cyd = { from: { id: 'U3', name: 'Cyd' } }

/** None may act on others' runs. */
const people = {
  ann: { ids: ['tg:1', 'sl:U1'], may: ['prompt', 'approve'] },
  bob: { ids: ['sl:U2'], may: ['prompt'] },
  cyd: { ids: ['sl:U3'], may: ['prompt', 'approve'] },
}

let day: Day

beforeAll(async () => {
  // Ann's private chat on Telegram, and a channel on Slack where Bob and Cyd are.
  day = await startDay(scripts, { people, routes: { '*': 'home' }, mirrors: [['tg:1', 'sl:C1']] })
})
afterAll(async () => await day.close())

const inSlack = async (words: string) => await day.slackTold('C1', words)

test('what is asked in one chat is answered in both, in one session', async () => {
  const { telegram, slack, told } = day
  telegram.say(1, 'Hi [scenario:hello]', { from: { id: 1, name: 'Ann' } })
  await Promise.all([told(1, 'Hello to you.'), inSlack('Hello to you.')])
  await inSlack('**Ann:** Hi')
  slack.say('C1', 'Once more [scenario:again]', { ...bob, mention: true })
  await Promise.all([told(1, 'Again, hello.'), inSlack('**Ann:** Hi')])
  await told(1, 'Once more')
  const sessions = await day.sessions(day.home)
  expect(sessions).toHaveLength(1)
  expect(day.errors).toEqual([])
})

test('a question shows in both, is answered by one person in either, and closes in the other', async () => {
  const { telegram, slack, told } = day
  telegram.say(1, 'Ask me [scenario:question]')
  const asked = await inSlack('Which colour?')
  await told(1, 'Which colour?')
  await slack.press('C1', asked.ts, 'Blue', ann)
  await Promise.all([told(1, 'As you like.'), inSlack('As you like.')])
  const there = telegram.screen(1).findLast(({ text: said }) => said.includes('Which colour?'))
  expect(there?.buttons).toEqual([])
  expect(day.errors).toEqual([])
})

test('a permission is allowed where the approver is, and by no one else', async () => {
  const { telegram, slack, told } = day
  telegram.say(1, 'Touch it [scenario:touch]')
  const asked = await inSlack('touch mirrored.txt')
  // An ask that is answered before a chat could post it is never posted there.
  await told(1, 'Allow this?')
  await slack.press('C1', asked.ts, 'Allow once', bob)
  // Refused as long as the bot does not know that all of it is on the screen; once it is answered, the button is gone.
  const isAllowed = async (): Promise<boolean> => {
    if (slack.screen('C1').some(({ text: said }) => said.includes('Allow once · Cyd'))) return true
    await slack.press('C1', asked.ts, 'Allow once', cyd)
    return false
  }
  await expect.poll(isAllowed).toBe(true)
  await Promise.all([told(1, 'It is touched.'), inSlack('It is touched.')])
  await Promise.all([told(1, '✅ Allow once'), inSlack('Allow once · Cyd')])
  expect(day.errors).toEqual([])
})

test('the words that a reply answers stand before it in the other chat, also when that chat is rate-limited', async () => {
  const { telegram, slack, told } = day
  slack.inject({ type: 'rate-limited', retryAfterS: 2, channel: 'C1', method: /^chat\./ })
  telegram.say(1, 'In order? [scenario:ordered]')
  await Promise.all([told(1, 'In order.'), inSlack('In order.')])
  const said = slack.screen('C1').map(({ text: one }) => one)
  const words = said.findIndex((one) => one.includes('In order?'))
  expect(words).toBeGreaterThan(-1)
  expect(said.findIndex((one) => one.includes('In order.'))).toBeGreaterThan(words)
})

test('one’s own run is stopped from the other chat, and /list is the same in both', async () => {
  const { telegram, slack, told, model } = day
  telegram.say(1, 'Go on [scenario:forever]')
  await model.held('forever')
  const stop = slack.say('C1', '/stop', { ...ann, mention: true })
  await day.slackTold('C1', 'Stopped.', stop)
  telegram.say(1, '/list')
  const { text: list } = await told(1, 'Recent executions')
  const listing = slack.say('C1', '/list', { ...ann, mention: true })
  expect((await day.slackTold('C1', 'Recent executions', listing)).text).toBe(list)
})

test('what a person wrote in one chat is their own in the other: they take it back there, and others do not', async () => {
  const { telegram, slack } = day
  const answers = () => telegram.screen(1).filter(({ text: said }) => said === 'Again, hello.').length
  const before = answers()
  telegram.say(1, 'Take this back [scenario:again]')
  await expect.poll(answers).toBe(before + 1)
  const take = async (person: typeof ann, words: string) => {
    await expect
      .poll(async () => {
        const command = slack.say('C1', '/undo', { ...person, mention: true })
        return (await day.slackTold('C1', '', command)).text
      })
      .toContain(words)
  }
  await take(cyd, 'requires the right')
  await take(ann, 'were undone')
})

test('a chat that fails does not touch the other: that one shows all, and the next prompt does not wait', async () => {
  const { telegram, slack, told, model } = day
  telegram.say(1, 'Slowly [scenario:slow]')
  await model.held('slow')
  slack.inject({ type: 'status', code: 500, channel: 'C1', method: /^chat\./, times: 1_000_000 })
  model.release('slow')
  await told(1, 'One moment, done.')
  telegram.say(1, 'Next [scenario:third]')
  await told(1, 'For the third time.')
  const stopped = async () => {
    telegram.say(1, '/stop')
    return telegram.screen(1).some(({ text: said }) => said === 'Nothing is running here.')
  }
  await expect.poll(stopped, { interval: 500 }).toBe(true)
})
