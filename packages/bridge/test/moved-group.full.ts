import { type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { slowIn } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = { hello: { steps: [[sayText('Hello to you.')]] }, ...slowIn([1, 2]) }
const groups = [1, 2].map((n) => ({ group: -n, supergroup: -1000 - n }))
const ann = { id: 1, name: 'Ann' }

let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({
    scripts,
    chats: groups.flatMap(({ group, supergroup }) => [
      { id: group, type: 'group', title: 'Shop' } as const,
      { id: supergroup, type: 'supergroup', title: 'Shop' } as const,
    ]),
  })
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const sessionIn = async (chat: number): Promise<string> => {
  stage.telegram.say(chat, '/current@fake_bot', { from: ann })
  return /ses_\w+/.exec((await stage.answered(chat, 'ses_')).text)?.[0] ?? ''
}

// https://core.telegram.org/bots/api#message: both groups get a service message that names the other.
test('a group that becomes a supergroup keeps its session and what waits, told by the update, also after a restart', async () => {
  const { group, supergroup } = groups[0] ?? expect.fail()
  await stage.start()
  stage.telegram.say(group, '@fake_bot Slowly [scenario:slow1]', { from: ann })
  await stage.model.held('middle1')
  const session = await sessionIn(group)
  stage.telegram.say(group, '@fake_bot Hello next [scenario:hello]', { from: ann })
  await stage.answered(group, 'Queued, number 1.')
  stage.telegram.upgrade(group, supergroup)
  const at = { date: Math.floor(Date.now() / 1000), from: { id: 1, is_bot: false, first_name: 'Ann' } }
  const chat = { type: 'group', title: 'Shop' }
  stage.telegram.push('message', {
    message_id: 900,
    ...at,
    chat: { id: group, ...chat },
    migrate_to_chat_id: supergroup,
  })
  await stage.stop()
  await stage.start()
  stage.model.release('middle1')
  await stage.answered(supergroup, 'One moment, done.')
  await stage.answered(supergroup, 'Hello to you.')
  expect(await sessionIn(supergroup)).toBe(session)
})

test('a group that becomes a supergroup is also known by a call that is refused', async () => {
  const { group, supergroup } = groups[1] ?? expect.fail()
  await stage.start()
  stage.telegram.say(group, '@fake_bot Slowly [scenario:slow2]', { from: ann })
  await stage.model.held('middle2')
  const session = await sessionIn(group)
  stage.telegram.upgrade(group, supergroup)
  stage.model.release('middle2')
  await stage.answered(supergroup, 'One moment, done.')
  expect(await sessionIn(supergroup)).toBe(session)
  stage.telegram.say(supergroup, '@fake_bot Hello [scenario:hello]', { from: ann })
  await stage.answered(supergroup, 'Hello to you.')
  expect(await sessionIn(supergroup)).toBe(session)
})
