import { connect } from '@reply/core'
import { createHandClock, createRecordedServer, readRecording } from '@reply/testing'
import { afterEach, expect, test } from 'vitest'
import { createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import { bridgeMetrics } from '../src/events/metrics.ts'
import { serveBridge } from '../src/serve-bridge.ts'
import { type Store, StoreError } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

const { bytes } = readRecording({ version: '1.18.33', scenario: 'plain' })
const none = async (): Promise<void> => {}
const rest = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))
const never = async (): Promise<never> => await new Promise(() => {})

let closes: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closes) await close()
  closes = []
})

/** Opens bridges on one state, each with a webhook channel and an address for health. */
function createState() {
  const clock = createHandClock()
  const memory = createStoreMemory()
  return { clock, open }

  async function open(changes: (store: Store) => Store = (store) => store) {
    const metrics = bridgeMetrics()
    const leases: string[] = []
    const bridge = createBridge({
      config: parseConfig({
        servers: { home: { url: 'http://127.0.0.1:1' } },
        channels: { own: { type: 'telegram', token: { env: 'TOKEN' } } },
        people: {},
      }),
      store: changes(createMemoryStore({ memory, clock, mostMembers: 1 })),
      connections: {
        own: () => ({
          ...{ listens: 'anywhere', posts: 'anywhere', check: none },
          ...{ start: none, stop: none, typing: none, edit: none, post: never, download: never },
          sinkFor: () => never() as never,
          budgets: {},
          webhook: { refuse: () => undefined, take: async () => ({ status: 200 }), maxBytes: 1000 },
        }),
      },
      connectTo: () => connect({ url: 'http://recorded', fetch: createRecordedServer({ bytes }).fetch, clock }),
      observers: [metrics.observe, (event) => void (event.type === 'lease' && leases.push(event.status))],
      clock,
    })
    const served = await serveBridge({ bridge, metrics, port: 0 })
    closes.push(
      () => bridge.stop(),
      () => served.close(),
    )
    const get = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(`${served.url}${path}`, path.startsWith('/webhooks') ? { method: 'POST' } : {})
      return [response.status, await response.text()]
    }
    const hasLease = async (): Promise<string | undefined> =>
      /^reply_bridge_lease (.*)$/m.exec((await get('/metrics'))[1])?.[1]
    return { bridge, get, hasLease, leases }
  }
}

test('a bridge on standby is healthy and not ready, takes no webhooks, and is ready after the other one stopped', async () => {
  const { clock, open } = createState()
  const [first, second] = [await open(), await open()]
  await first.bridge.start()
  const starting = second.bridge.start()
  await expect.poll(() => second.bridge.status().state).toBe('standby')
  expect([await first.get('/readyz'), await first.hasLease()]).toEqual([[200, 'ready\n'], '1'])
  expect([await second.get('/readyz'), await second.get('/readyz/own')]).toEqual([
    [503, 'standby\n'],
    [503, 'standby\n'],
  ])
  expect([await second.get('/healthz'), await second.hasLease()]).toEqual([[200, 'standby\n'], '0'])
  expect([(await first.get('/webhooks/own'))[0], (await second.get('/webhooks/own'))[0]]).toEqual([200, 503])
  await first.bridge.stop()
  await clock.advance(250)
  await starting
  expect([await second.get('/readyz'), await second.hasLease()]).toEqual([[200, 'ready\n'], '1'])
  expect((await second.get('/webhooks/own'))[0]).toBe(200)
  expect([await first.get('/healthz'), await first.hasLease()]).toEqual([[503, 'stopped\n'], '0'])
  expect([first.leases, second.leases]).toEqual([
    ['held', 'ended'],
    ['waiting', 'held'],
  ])
})

test('a bridge on standby that could not take over is stalled, until it could', async () => {
  const { clock, open } = createState()
  const first = await open()
  await first.bridge.start()
  const database = { isDown: true }
  const second = await open((store) => ({
    ...store,
    beat: async (request) => {
      if (database.isDown) throw new StoreError('busy', "PostgreSQL can't be reached.")
      return await store.beat(request)
    },
  }))
  const starting = second.bridge.start().catch(() => 'stopped')
  await expect.poll(() => second.bridge.status().state).toBe('stalled')
  const problem = "The state can't be used, so this process can't join: PostgreSQL can't be reached."
  expect(await second.get('/readyz')).toEqual([503, `stalled\n${problem}\n`])
  expect(await second.get('/healthz')).toEqual([200, 'stalled\n'])
  database.isDown = false
  await clock.advance(250)
  await expect.poll(() => second.get('/readyz')).toEqual([503, 'standby\n'])
  await second.bridge.stop()
  expect(await starting).toBe('stopped')
  expect(second.leases).toEqual(['waiting'])
})

test('a bridge that could not renew its leases says so, then that another one has the state, and goes on after that one', async () => {
  const { clock, open } = createState()
  const database = { isDown: false }
  const first = await open((store) => ({
    ...store,
    beat: async (request) => {
      if (database.isDown) throw new StoreError('busy', "PostgreSQL can't be reached.")
      return await store.beat(request)
    },
  }))
  await first.bridge.start()
  const second = await open()
  const starting = second.bridge.start()
  await expect.poll(() => second.bridge.status().state).toBe('standby')
  database.isDown = true
  await clock.advance(3500, rest)
  expect([first.bridge.status().state, first.leases]).toEqual(['stalled', ['held', 'expired']])
  expect([await first.hasLease(), await second.hasLease()]).toEqual(['0', '0'])
  await clock.advance(1500, rest)
  await starting
  database.isDown = false
  await clock.advance(1000, rest)
  await expect.poll(() => first.leases).toEqual(['held', 'expired', 'ended', 'waiting'])
  expect([await first.hasLease(), await second.hasLease()]).toEqual(['0', '1'])
  expect([await first.get('/readyz'), (await first.get('/webhooks/own'))[0]]).toEqual([[503, 'standby\n'], 503])
  await second.bridge.stop()
  await clock.advance(250, rest)
  await expect.poll(() => first.leases.at(-1)).toBe('held')
  expect([await first.get('/readyz'), (await first.get('/webhooks/own'))[0]]).toEqual([[200, 'ready\n'], 200])
  expect([await first.hasLease(), await second.hasLease()]).toEqual(['1', '0'])
})
