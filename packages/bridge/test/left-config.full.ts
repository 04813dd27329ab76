import { type Scripts, text } from '@reply/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { slowIn } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const chats = [501, 502, 503]
const scripts: Scripts = { hello: { steps: [[text('Hello to you.')]] }, ...slowIn(chats) }
const people = {
  ann: { ids: ['tg:501', 'tg:503'], may: ['prompt', 'approve', 'admin'] },
  bob: { ids: ['tg:502'], may: ['prompt', 'approve'] },
}

let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({
    scripts,
    people,
    chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
  })
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const said = async (chat: number, words: string) =>
  await stage.seen(chat, (screen) => screen.findLast(({ from, text: is }) => from === 'bot' && is.includes(words)))

test('a server that left the config is told, and the message of its run is closed', async () => {
  await stage.start()
  stage.telegram.say(501, 'Slowly [scenario:slow501]')
  const working = await said(501, 'One moment')
  stage.telegram.say(501, 'Then hello [scenario:hello]')
  await said(501, 'Queued, number 1.')
  await stage.stop()
  await stage.start({ serverName: 'other' })
  await said(501, 'The server home is no longer in the config of the bridge')
  // It takes the place of the message that was at work.
  await expect.poll(() => stage.telegram.screen(501).map(({ messageId }) => messageId)).not.toContain(working.messageId)
  // What waited goes to the server that the config has now.
  await said(501, 'Hello to you.')
  expect(stage.said(501).join()).not.toMatch(/Working|Writing/)
  stage.model.release('middle501')
})

test('a person who left the config is told that what waited is not run', async () => {
  await stage.start()
  stage.telegram.say(502, 'Slowly [scenario:slow502]')
  await said(502, 'One moment')
  stage.telegram.say(502, 'Then hello [scenario:hello]')
  await said(502, 'Queued, number 1.')
  await stage.stop()
  await stage.start({ people: { ann: people.ann } })
  stage.model.release('middle502')
  await said(502, 'One moment, done.')
  await said(502, 'This was not run')
  expect(stage.said(502).join()).not.toContain('Hello to you.')
})
