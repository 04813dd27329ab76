import type { PromptFile } from '@reply/core'
import { connectSource, createLocalAgent } from '@reply/core/source'
import { startTelegram } from '@reply/testing/telegram'
import { afterEach, expect, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { answer } from './local-agent.ts'
import { shop, telegramOn } from './platforms.ts'

let chats: Chats | undefined
afterEach(async () => await chats?.close())

test('in a group, an album is taken with its caption that mentions the bot, and not one that another person sends', async () => {
  const telegram = await startTelegram({
    token: '42:secret',
    chats: [{ id: shop, type: 'supergroup', title: 'Shop' }],
  })
  const prompts: (readonly PromptFile[])[] = []
  const { source } = createLocalAgent({
    name: 'an agent in the test',
    create: ({ directory }) => ({ sessionID: 'ses_1', directory }),
    prompt: async (run, { files = [] }) => {
      prompts.push(files)
      answer(run, 'Seen.')
    },
    cancel: (run) => run.end({ type: 'aborted' }),
  })
  chats = await startChats({ platforms: [telegramOn(telegram)], connectTo: () => connectSource(source) })
  await chats.start()
  const file = (name: string) => ({ kind: 'document', name, bytes: Buffer.from(name) }) as const
  const ann = { id: 1, name: 'Ann' }
  telegram.say(shop, '@fake_bot Look.', { from: ann, file: file('a.txt'), albumId: 'album' })
  telegram.say(shop, '', { from: ann, file: file('b.txt'), albumId: 'album' })
  telegram.say(shop, '', { from: ann, file: file('other.txt'), albumId: 'another' })
  telegram.say(shop, '', { from: { id: 2, name: 'Bob' }, file: file('forged.txt'), albumId: 'album' })
  telegram.say(shop, '', { from: ann, file: file('alone.txt') })
  telegram.say(shop, '', { from: ann, file: file('c.txt'), albumId: 'album' })
  await expect.poll(() => prompts.length).toBe(1)
  expect(prompts[0]?.map(({ filename }) => filename)).toEqual(['a.txt', 'b.txt', 'c.txt'])
})
