import { connectSource, createLocalAgent } from '@reply/core/source'
import { postgresStore } from '@reply/postgres'
import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import { startTelegram } from '@reply/testing/telegram'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Balancer, startBalancer } from './balancer.ts'
import { type Chats, startChats } from './chats.ts'
import { answer } from './local-agent.ts'
import { type Platform, shop, telegramOn } from './platforms.ts'

const ann = { id: 1, name: 'Ann' }
const file = (name: string) => ({ kind: 'document', name, bytes: Buffer.from(name) }) as const

let bridges: Chats[] = []
/** The prompts, each with the names of its files. */
let prompts: (readonly (string | undefined)[])[] = []
let balancer: Balancer | undefined
beforeEach(() => {
  bridges = []
  prompts = []
})
afterEach(async () => {
  balancer?.close()
  await Promise.all(bridges.map(async (chats) => await chats.close()))
})

const startShop = async () =>
  await startTelegram({ token: '42:secret', chats: [{ id: shop, type: 'supergroup', title: 'Shop' }] })

/** Makes a bridge. The agent behind each of them is the same. */
async function createBridge(platform: Platform): Promise<Chats> {
  const { source } = createLocalAgent({
    name: 'an agent in the test',
    create: ({ directory }) => ({ sessionID: 'ses_1', directory }),
    prompt: async (run, { files = [] }) => {
      prompts.push(files.map(({ filename }) => filename))
      answer(run, 'Seen.')
    },
    cancel: (run) => run.end({ type: 'aborted' }),
  })
  const chats = await startChats({ platforms: [platform], connectTo: () => connectSource(source) })
  bridges.push(chats)
  return chats
}

test('in a group, an album is taken with its caption that mentions the bot, and not one that another person sends', async () => {
  const telegram = await startShop()
  const chats = await createBridge(telegramOn(telegram))
  await chats.start()
  telegram.say(shop, '@fake_bot Look.', { from: ann, file: file('a.txt'), albumId: 'album' })
  telegram.say(shop, '', { from: ann, file: file('b.txt'), albumId: 'album' })
  telegram.say(shop, '', { from: ann, file: file('other.txt'), albumId: 'another' })
  telegram.say(shop, '', { from: { id: 2, name: 'Bob' }, file: file('forged.txt'), albumId: 'album' })
  telegram.say(shop, '', { from: ann, file: file('alone.txt') })
  telegram.say(shop, '', { from: ann, file: file('c.txt'), albumId: 'album' })
  await expect.poll(() => prompts.length).toBe(1)
  expect(prompts).toEqual([['a.txt', 'b.txt', 'c.txt']])
})

describe.skipIf(!hasPostgres())(`on PostgreSQL (${needsPostgres})`, () => {
  test('an album of a group is one prompt if two bridges receive its messages in turns', async () => {
    const telegram = await startShop()
    const platform = telegramOn(telegram)
    const secret = 'shared'
    const webhook: Platform = {
      ...platform,
      entry: { ...platform.entry, updates: 'webhook', secretToken: { env: 'SECRET' } },
      secrets: { ...platform.secrets, SECRET: secret },
    }
    const url = await (await sharedPostgres()).createDatabase()
    for (let nth = 0; nth < 2; nth++) {
      const chats = await createBridge(webhook)
      const store = await postgresStore({ url })
      await chats.start({ storeOf: () => store })
    }
    let turn = 0
    balancer = await startBalancer(() => {
      turn += 1
      return bridges.map((_, nth) => `${bridges[(turn + nth) % bridges.length]?.url}/webhooks/telegram`)
    })
    await fetch(`${telegram.url}/bot42:secret/setWebhook`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ url: balancer.url, secret_token: secret }),
    })
    const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt']
    for (const [index, name] of names.entries())
      telegram.say(shop, index === 0 ? '@fake_bot Look.' : '', { from: ann, file: file(name), albumId: 'album' })
    await expect.poll(() => prompts.length).toBe(1)
    expect(prompts).toEqual([names])
    expect(bridges.flatMap(({ errors }) => errors)).toEqual([])
  })
})
