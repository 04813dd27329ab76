import type { Clock } from '@reply/core'
import type { LocalRun } from '@reply/core/source'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { type Platform, startPlatform } from './platforms.ts'

const hour = 3_600_000

/** The computer's clock, and by how much it was set. */
let setMs = 0
const clock: Clock = {
  now: () => Date.now() + setMs,
  monotonic: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

let slack: Platform
let chats: Chats
let waiting: LocalRun | undefined
let agent: ReturnType<typeof localAgent>

beforeEach(async () => {
  setMs = 0
  slack = await startPlatform('slack')
  agent = localAgent((run, text) => {
    if (text === 'ask') return ask(run)
    if (text !== 'wait') return answer(run, `You said: ${text}.`)
    waiting = run
    run.write({ type: 'text', delta: 'One moment.' })
  })
  chats = await startChats({ platforms: [slack], connectTo: agent.connectTo })
})
afterEach(async () => await chats.close())

function ask(run: LocalRun): void {
  const question = { header: 'Colour', question: 'Which colour?', options: [], multiple: false, custom: true }
  run.ask({ type: 'question', requestID: 'que_1', questions: [question], reply: () => answer(run, 'As you like.') })
}

const said = async (words: string): Promise<string | undefined> => {
  const find = (): string | undefined => slack.texts().findLast((text) => text.includes(words))
  await expect.poll(find).toBeDefined()
  return find()
}

test('a clock that is set forward and back holds nothing up, runs nothing twice, and makes no time negative', async () => {
  const waits: (number | undefined)[] = []
  const observe = (event: object): void => {
    if ('times' in event) waits.push(...Object.values(event.times ?? {}))
  }
  await chats.start({ clock, observers: [observe] })
  slack.say('ann', 'wait')
  await said('One moment.')
  slack.say('ann', 'queued')
  await said('Queued, number 1.')
  setMs = hour
  slack.say('ann', 'queued too')
  setMs = -hour
  slack.say('ann', '/status')
  expect(await said('Last output')).toMatch(/^⏳ Running \((?:1h 00m|\d+s)\)/)
  setMs = 0
  if (waiting) answer(waiting, ' Done.')
  await said('One moment. Done.')
  await said('You said: queued.')
  await said('You said: queued too.')
  setMs = -hour
  slack.say('ann', 'now')
  await said('You said: now.')
  expect(agent.heard).toEqual(['wait', 'queued', 'queued too', 'now'])
  expect(waits.filter((time) => time !== undefined && time < 0)).toEqual([])
  expect(chats.errors).toEqual([])
})

test('messages after a time in which the clock was ahead are not backlog', async () => {
  await chats.start({ clock, router: { backlog: 'none' } })
  setMs = hour
  slack.say('ann', '/help')
  await said('sent while the bridge was down')
  setMs = 0
  slack.say('ann', '/help')
  await said('/status')
  slack.say('ann', 'now')
  await said('You said: now.')
})

test('a stop works also while the clock is ahead', async () => {
  await chats.start({ clock })
  slack.say('ann', 'wait')
  await said('One moment.')
  setMs = hour
  slack.say('ann', '/stop')
  await said('Stopped')
})

test('an unanswered ask is rejected in time though the clock was set back since it was shown', async () => {
  setMs = hour
  await chats.start({ clock, router: { askTimeoutMs: 60_000, backlog: 'all' } })
  slack.say('ann', 'ask')
  await said('Which colour?')
  await chats.stop()
  setMs = 0
  // The agent in this process asks again under the same id, as a server would show it again.
  await chats.start({ clock, router: { askTimeoutMs: 1000 } })
  slack.say('ann', 'ask')
  await said('No answer within 1s')
})

test('the lease of a process that died is taken over though the clock was set back since', async () => {
  await chats.start({ clock, storeOf: (store) => ({ ...store, release: async () => {}, leave: async () => {} }) })
  await chats.stop()
  setMs = -hour
  await chats.start({ clock })
  slack.say('ann', 'now')
  await said('You said: now.')
  expect(chats.notices).not.toContain('Another process uses this state. Waiting for it to exit.')
})
