import { type Client, connect, systemClock } from '@reply/core'
import { postgresStore } from '@reply/postgres'
import { bridgeChannel } from '@reply/telegram/bridge'
import { callTool, launchOpencode, type OpencodeServer, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { hasPostgres, sharedPostgres } from '@reply/testing/internal'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Bridge, createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

/** Private chats in different shards, so that both members have some. */
const chats = Array.from({ length: 8 }, (_, index) => index + 1)
const token = '42:secret'

let model: ScriptedModel
let server: OpencodeServer
let telegram: FakeTelegram
/** The program at the desk. */
let desk: Client
const errors: Error[] = []
const bridges: Bridge[] = []
/** How many shards each bridge owns. */
const owned = new Map<Bridge, number>()

beforeAll(async () => {
  model = await startModel({
    scripts: {
      hello: { steps: [[sayText('Hello to you.')]] },
      ...Object.fromEntries(
        chats.map((chat) => [
          `desk${chat}`,
          { steps: [[callTool('bash', { command: `touch desk${chat}`, description: 'Touch' })], [sayText('Done.')]] },
        ]),
      ),
    },
  })
  server = await launchOpencode({
    model,
    config: { permission: { bash: { '*': 'allow', 'touch *': 'ask' } }, extra: { snapshot: false } },
  })
  desk = connect({ url: server.url, directory: server.directory })
  await desk.ready
})
afterAll(async () => {
  await desk.close()
  await server.stop()
  await model.close()
})

beforeEach(async () => {
  errors.length = 0
  telegram = await startTelegram({ token, chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' }) as const) })
})
afterEach(async () => {
  await Promise.all(bridges.splice(0).map(async (bridge) => await bridge.stop()))
  owned.clear()
  await telegram.close()
})

async function startMember(store: Store): Promise<Bridge> {
  const bridge = createBridge({
    config: parseConfig({
      servers: { home: { url: server.url, directory: server.directory } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
      people: { ann: { ids: chats.map((id) => `tg:${id}`), may: ['prompt', 'approve'] } },
    }),
    store,
    secret: () => token,
    load: async () => bridgeChannel,
    onError: (error) => errors.push(error),
    observers: [(event) => void (event.type === 'beat' && owned.set(bridge, event.shards))],
  })
  bridges.push(bridge)
  await bridge.start()
  return bridge
}

function seen<T>(chat: number, find: (screen: readonly TelegramMessage[]) => T | undefined | false): Promise<T> {
  return new Promise((resolve) => {
    const look = (): void => {
      const found = find(telegram.screen(chat))
      if (found === undefined || found === false) return
      stop()
      resolve(found)
    }
    const stop = telegram.observe(look)
    look()
  })
}

const requests = (chat: number): readonly TelegramMessage[] =>
  telegram.screen(chat).filter(({ text }) => text.includes('Allow this?'))

/** Has both members share the state of a new store. `connect` is called for each. */
async function follow(connect: () => Promise<Store>): Promise<void> {
  const first = await startMember(await connect())
  await startMember(await connect())
  await expect.poll(() => [...owned.values()].filter((count) => count > 0).length).toBe(2)
  const sessions = await Promise.all(
    chats.map(async (chat) => {
      telegram.say(chat, 'Hi [scenario:hello]')
      await seen(chat, (screen) => screen.find(({ text }) => text.includes('Hello to you.')))
      telegram.say(chat, '/current')
      const { text } = await seen(chat, (screen) => screen.find((one) => one.text.includes('Session:')))
      return { chat, sessionID: /ses_\w+/.exec(text)?.[0] ?? '' }
    }),
  )
  const streams = sessions.map(({ chat, sessionID }) => desk.prompt({ sessionID, text: `Go [scenario:desk${chat}]` }))
  await Promise.all(
    chats.map(async (chat) => await seen(chat, () => requests(chat).some(({ buttons }) => buttons.length > 0))),
  )
  await first.stop()
  for (const chat of chats) {
    const isOpen = async (): Promise<boolean> => {
      const newest = requests(chat).at(-1)
      if (!newest || newest.buttons.length === 0) return false
      await telegram.press(chat, newest.messageId, 'Allow once').settled
      return true
    }
    await expect.poll(isOpen, { interval: 300 }).toBe(false)
  }
  for (const stream of streams) expect((await stream.result).outcome).toBe('completed')
  for (const chat of chats)
    expect(requests(chat).map(({ text }) => text)).toEqual([expect.stringContaining(`touch desk${chat}`)])
  expect(errors).toEqual([])
}

test('one of two members shows a request of the desk, and after it has left, the other one takes the answer', async () => {
  if (hasPostgres()) {
    const url = await (await sharedPostgres()).createDatabase()
    await follow(async () => await postgresStore({ url }))
  } else {
    const memory = createStoreMemory()
    await follow(async () => createMemoryStore({ memory, clock: systemClock }))
  }
})
