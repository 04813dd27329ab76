import type { LocalRun } from '@reply/core/source'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import { type Chats, startChats } from './chats.ts'
import { answer, localAgent, touching } from './local-agent.ts'
import { type Platform, startPlatform } from './platforms.ts'

let slack: Platform
let chats: Chats
/** What the agent does with an answer. */
let take: (run: LocalRun) => void
const ends: BridgeEvent[] = []

beforeEach(async () => {
  ends.length = 0
  // The run must not end before its ask does.
  take = (run) => void setImmediate(() => answer(run, 'As you like.'))
  slack = await startPlatform('slack')
  const agent = localAgent((run, text) => {
    const requestID = `${text}_1`
    const reply = (): void => take(run)
    const question = { header: 'Colour', question: 'Which colour?', options: [], multiple: false, custom: true }
    if (text === 'que') return run.ask({ type: 'question', requestID, questions: [question], reply })
    run.write(touching.call)
    run.ask({ ...touching.ask, always: [], requestID, reply })
  })
  chats = await startChats({ platforms: [slack], connectTo: agent.connectTo })
  await chats.start({
    observers: [(event) => void (event.type === 'ask' && event.phase !== 'asked' && ends.push(event))],
  })
})
afterEach(async () => await chats.close())

const said = async (words: string): Promise<void> =>
  await expect.poll(() => slack.texts().some((text) => text.includes(words))).toBe(true)

test('the event of an answer tells who gave it, and what was decided', async () => {
  slack.say('ann', 'que')
  await said('Which colour?')
  slack.say('ann', 'Blue')
  await said('As you like.')
  slack.say('ann', 'per')
  await expect.poll(slack.labels).toContain('Allow once')
  await slack.press('ann', 'Allow once')
  await expect.poll(() => ends.length).toBe(2)
  const by = { actorID: slack.ids.ann, actorChannel: 'slack' }
  expect(ends).toMatchObject([
    { phase: 'answered', requestID: 'que_1', ...by, decision: undefined },
    { phase: 'answered', requestID: 'per_1', ...by, decision: 'once' },
  ])
})

test('an ask that a stop ended has no actor, even if an answer to it failed before', async () => {
  take = () => {
    throw new Error('The agent is busy.')
  }
  slack.say('ann', 'que')
  await said('Which colour?')
  slack.say('ann', 'Blue')
  await said('was not sent')
  slack.say('ann', '/stop')
  await expect.poll(() => ends.length).toBe(1)
  expect(ends).toMatchObject([{ requestID: 'que_1', actorID: undefined }])
})
