import { afterEach, expect, test } from 'vitest'
import { StoreError } from '../src/store/store.ts'
import { createHealthStage, type HealthStage, rest } from './health-stage.ts'

/** Bridges on a state that admits one member, like SQLite. */
const createState = () => {
  stage = createHealthStage({ mostMembers: 1 })
  return stage
}

let stage: HealthStage | undefined
afterEach(async () => await stage?.close())

test('a bridge on standby is healthy and not ready, takes no webhooks, and is ready after the other one stopped', async () => {
  const { clock, open } = createState()
  const [first, second] = [await open(), await open()]
  await first.bridge.start()
  const starting = second.bridge.start()
  await expect.poll(() => second.bridge.status().state).toBe('standby')
  expect([await first.get('/readyz'), await first.metric('member')]).toEqual([[200, 'ready\n'], '1'])
  expect([await second.get('/readyz'), await second.get('/readyz/own')]).toEqual([
    [503, 'standby\n'],
    [503, 'standby\n'],
  ])
  expect([await second.get('/healthz'), await second.metric('member')]).toEqual([[200, 'standby\n'], '0'])
  expect([(await first.get('/webhooks/own'))[0], (await second.get('/webhooks/own'))[0]]).toEqual([200, 503])
  await first.bridge.stop()
  await clock.advance(250)
  await starting
  expect([await second.get('/readyz'), await second.metric('member')]).toEqual([[200, 'ready\n'], '1'])
  expect((await second.get('/webhooks/own'))[0]).toBe(200)
  expect([await first.get('/healthz'), await first.metric('member')]).toEqual([[503, 'stopped\n'], '0'])
  expect([first.statuses, second.statuses]).toEqual([
    ['joined', 'left'],
    ['waiting', 'joined'],
  ])
})

test('a bridge on standby that could not take over is stalled, until it could', async () => {
  const { clock, open } = createState()
  const first = await open()
  await first.bridge.start()
  const database = { isDown: true }
  const second = await open({
    store: (store) => ({
      ...store,
      read: async (key) => {
        if (database.isDown) throw new StoreError('busy', "PostgreSQL can't be reached.")
        return await store.read(key)
      },
      beat: async (request) => {
        if (database.isDown) throw new StoreError('busy', "PostgreSQL can't be reached.")
        return await store.beat(request)
      },
    }),
  })
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
  expect(second.statuses).toEqual(['waiting'])
})

test('a bridge that could not renew its leases says so, then that another one has the state, and goes on after that one', async () => {
  const { clock, open } = createState()
  const database = { isDown: false }
  const first = await open({
    store: (store) => ({
      ...store,
      beat: async (request) => {
        if (database.isDown) throw new StoreError('busy', "PostgreSQL can't be reached.")
        return await store.beat(request)
      },
    }),
  })
  await first.bridge.start()
  const second = await open()
  const starting = second.bridge.start()
  await expect.poll(() => second.bridge.status().state).toBe('standby')
  database.isDown = true
  await clock.advance(3500, rest)
  expect([first.bridge.status().state, first.statuses]).toEqual(['stalled', ['joined', 'expired']])
  expect([await first.metric('member'), await second.metric('member')]).toEqual(['0', '0'])
  await clock.advance(1500, rest)
  await starting
  database.isDown = false
  await clock.advance(1000, rest)
  await expect.poll(() => first.statuses).toEqual(['joined', 'expired', 'left', 'waiting'])
  expect(first.notices.at(-1)).toBe('Another process uses this state. Waiting for it to exit.')
  expect([await first.metric('member'), await second.metric('member')]).toEqual(['0', '1'])
  expect([await first.get('/readyz'), (await first.get('/webhooks/own'))[0]]).toEqual([[503, 'standby\n'], 503])
  await second.bridge.stop()
  await clock.advance(250, rest)
  await expect.poll(() => first.statuses.at(-1)).toBe('joined')
  expect(first.notices.at(-1)).toBe('This process uses the state again. Resuming.')
  expect([await first.get('/readyz'), (await first.get('/webhooks/own'))[0]]).toEqual([[200, 'ready\n'], 200])
  expect([await first.metric('member'), await second.metric('member')]).toEqual(['1', '0'])
})
