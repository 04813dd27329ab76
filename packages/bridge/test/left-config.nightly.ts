import { type Scripts, sayText } from '@reply/testing'
import type { TelegramMessage } from '@reply/testing/telegram'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { slowIn } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const chats = [501, 502, 503]
const scripts: Scripts = { hello: { steps: [[sayText('Hello to you.')]] }, ...slowIn(chats) }
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

/** What had come of the answer stays, and the reason is below it. */
async function closedBelow(chat: number, messageId: number): Promise<void> {
  await expect
    .poll(() => shownOf(chat).findIndex((one) => /no longer in the bridge’s config|was deleted/.test(one.text)))
    .toBeGreaterThan(shownOf(chat).findIndex((one) => one.messageId === messageId))
  const kept = shownOf(chat).find((one) => one.messageId === messageId)
  expect(kept?.text).toContain('One moment')
}

function shownOf(chat: number): readonly TelegramMessage[] {
  return stage.telegram.screen(chat).filter(({ from }) => from === 'bot')
}

async function deleteSessionOf(words: string): Promise<void> {
  const { url, directory } = stage.server
  const ask = async (path: string, method = 'GET'): Promise<string> =>
    await (await fetch(`${url}${path}?directory=${encodeURIComponent(directory)}`, { method })).text()
  const sessions: readonly { readonly id: string }[] = JSON.parse(await ask('/session'))
  for (const { id } of sessions)
    if ((await ask(`/session/${id}/message`)).includes(words)) await ask(`/session/${id}`, 'DELETE')
}

test('a server that left the config is told, and the message of its run is closed', async () => {
  await stage.start()
  stage.telegram.say(501, 'Slowly [scenario:slow501]')
  const working = await stage.answered(501, 'One moment')
  stage.telegram.say(501, 'Then hello [scenario:hello]')
  await stage.answered(501, 'Queued, number 1.')
  await stage.stop()
  await stage.start({ serverName: 'other' })
  await stage.answered(501, 'The server home is no longer in the bridge’s config')
  await closedBelow(501, working.messageId)
  // What waited goes to the server that the config has now.
  await stage.answered(501, 'Hello to you.')
  stage.model.release('middle501')
})

test('a run whose session was deleted meanwhile keeps what had come of its answer, with the reason below', async () => {
  await stage.start()
  stage.telegram.say(503, 'Slowly [scenario:slow503]')
  const working = await stage.answered(503, 'One moment')
  await stage.stop()
  await deleteSessionOf('[scenario:slow503]')
  await stage.start()
  await stage.answered(503, 'The session of this message was deleted')
  await closedBelow(503, working.messageId)
  stage.model.release('middle503')
})

test('a person who left the config is told that what waited is not run', async () => {
  await stage.start()
  stage.telegram.say(502, 'Slowly [scenario:slow502]')
  await stage.answered(502, 'One moment')
  stage.telegram.say(502, 'Then hello [scenario:hello]')
  await stage.answered(502, 'Queued, number 1.')
  await stage.stop()
  await stage.start({ people: { ann: people.ann } })
  stage.model.release('middle502')
  await stage.answered(502, 'One moment, done.')
  await stage.answered(502, 'Not run')
  expect(stage.said(502).join()).not.toContain('Hello to you.')
})
