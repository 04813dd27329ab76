import { withResolvers } from '@reply/sink/internal'
import { afterEach, expect, test } from 'vitest'
import { allShards } from '../src/state/shard-of.ts'
import { StoreError } from '../src/store/store.ts'
import {
  createHealthStage,
  type HealthStage,
  type HealthyBridge,
  type HealthyBridgeChanges,
  rest,
} from './health-stage.ts'

let stage: HealthStage
afterEach(async () => await stage.close())

/** Starts a bridge on the state of the stage, with a channel that only one of them can listen to. */
async function startMember(changes: HealthyBridgeChanges = {}): Promise<HealthyBridge> {
  const member = await stage.open({ listens: 'one', ...changes })
  await member.bridge.start()
  return member
}

const ready = [200, 'ready\n'] as const
const shards = async (members: readonly HealthyBridge[]): Promise<readonly number[]> =>
  await Promise.all(members.map(async ({ metric }) => Number(await metric('shards'))))

/** Lets time pass until something is so. */
async function passes(isSo: () => Promise<boolean> | boolean): Promise<void> {
  await expect
    .poll(async () => {
      await stage.clock.advance(250, rest)
      return await isSo()
    })
    .toBe(true)
}

test('all members are ready, whichever of them listens, and each has its part of the shards', async () => {
  stage = createHealthStage()
  const members = [await startMember(), await startMember(), await startMember()]
  await passes(async () => (await shards(members)).every((count) => count >= 20 && count <= 22))
  expect((await shards(members)).reduce((sum, count) => sum + count)).toBe(64)
  expect(await Promise.all(members.map(({ get }) => get('/readyz')))).toEqual([ready, ready, ready])
  expect(await Promise.all(members.map(({ get }) => get('/readyz/own')))).toEqual([
    [200, 'receiving\n'],
    [200, 'elsewhere\n'],
    [200, 'elsewhere\n'],
  ])
  const receiving = await Promise.all(members.map(({ metric }) => metric('channel_receiving{channel="own"}')))
  expect(receiving).toEqual(['1', '0', '0'])
  expect(await Promise.all(members.map(({ metric }) => metric('members')))).toEqual(['3', '3', '3'])
})

test('one event has all shards that a member took or gave back within a second', async () => {
  stage = createHealthStage()
  const [first, second] = [await startMember(), await startMember()]
  await passes(async () => (await shards([first, second])).every((count) => count === 32))
  await stage.clock.advance(2000, rest)
  const changes = (member: HealthyBridge) => member.events.flatMap((event) => (event.type === 'shards' ? [event] : []))
  const sumOf = (member: HealthyBridge, name: 'taken' | 'takenOver' | 'givenBack' | 'lost'): number =>
    changes(member).reduce((sum, event) => sum + event[name], 0)
  expect(changes(first)[0]).toMatchObject({ owned: allShards, taken: 64, takenOver: 0, givenBack: 0, lost: 0 })
  expect([sumOf(first, 'givenBack'), sumOf(first, 'lost')]).toEqual([32, 0])
  expect([sumOf(second, 'taken'), sumOf(second, 'takenOver')]).toEqual([32, 32])
  expect(await second.metric('takeovers_total')).toBe('32')
  for (const member of [first, second]) {
    const times = changes(member).flatMap(({ at, restored }) => (restored === 0 ? [at] : []))
    expect(times.slice(1).every((at, index) => at - (times[index] ?? 0) >= 1000)).toBe(true)
    expect(changes(member).at(-1)?.owned).toHaveLength(32)
  }
})

test('an event tells at once when a member has read the last of the shards that it took', async () => {
  stage = createHealthStage()
  const member = await startMember()
  const told = member.events.flatMap((event) => (event.type === 'shards' ? [event] : []))
  expect(told.map(({ taken, restoring }) => [taken, restoring.length])).toEqual([
    [64, 64],
    [0, 0],
  ])
  expect(told.map(({ at }) => at)).toEqual([told[0]?.at, told[0]?.at])
})

test('a member that stops is not ready at once and healthy until it has stopped, and another one listens', async () => {
  stage = createHealthStage()
  const released = withResolvers<void>()
  const [first, second] = [await startMember({ stop: () => released.promise }), await startMember()]
  await passes(async () => (await shards([first, second])).every((count) => count === 32))
  const stopping = first.bridge.stop()
  expect(await first.get('/readyz')).toEqual([503, 'stopping\n'])
  expect([await first.get('/healthz'), (await first.get('/webhooks/own'))[0]]).toEqual([[200, 'stopping\n'], 503])
  await passes(async () => (await shards([second]))[0] === 64)
  expect(await first.get('/healthz')).toEqual([200, 'stopping\n'])
  released.resolve()
  await passes(() => first.bridge.status().state === 'stopped')
  await stopping
  expect([await first.get('/readyz'), await first.get('/healthz')]).toEqual([
    [503, 'stopped\n'],
    [503, 'stopped\n'],
  ])
  await passes(async () => (await second.get('/readyz/own'))[1] === 'receiving\n')
  expect([await second.get('/readyz'), await shards([first, second])]).toEqual([ready, [0, 64]])
  expect(second.events.filter(({ type }) => type === 'channel')).toMatchObject([
    { status: 'elsewhere' },
    { status: 'receiving' },
  ])
})

test('a member whose beats are not answered is not ready from its deadline on, and has no shards in the metrics', async () => {
  stage = createHealthStage()
  const database = { isDown: false }
  const member = await stage.open({
    store: (store) => ({
      ...store,
      beat: async (request) => {
        if (database.isDown) throw new StoreError('busy', "PostgreSQL can't be reached.")
        return await store.beat(request)
      },
    }),
  })
  await member.bridge.start()
  await stage.clock.advance(1000, rest)
  expect([await member.get('/readyz'), await shards([member])]).toEqual([ready, [64]])
  database.isDown = true
  await stage.clock.advance(3400, rest)
  expect(await member.get('/readyz')).toEqual(ready)
  await stage.clock.advance(100, rest)
  expect([(await member.get('/readyz'))[0], await member.get('/healthz')]).toEqual([503, [200, 'stalled\n']])
  expect([await shards([member]), await member.metric('beats_late_total')]).toEqual([[0], '0'])
  database.isDown = false
  await passes(async () => (await member.get('/readyz'))[0] === 200)
  expect([await shards([member]), await member.metric('beats_late_total')]).toEqual([[64], '1'])
  expect(member.events.filter(({ type }) => type === 'member')).toMatchObject([
    { status: 'joined' },
    { status: 'expired' },
    { status: 'joined' },
  ])
})

test('a member with other mirrors waits on standby, and says why', async () => {
  stage = createHealthStage()
  const [first, second] = [await stage.open(), await stage.open({ mirrors: [['own:1', 'own:2']] })]
  await first.bridge.start()
  const starting = second.bridge.start()
  await expect.poll(() => second.bridge.status().state).toBe('standby')
  expect(await second.get('/readyz')).toEqual([503, expect.stringMatching(/^standby\n.*other `mirrors`/)])
  const stopping = first.bridge.stop()
  await passes(() => second.bridge.status().state === 'ready')
  await Promise.all([starting, stopping])
  expect(second.statuses).toEqual(['waiting', 'joined'])
})

test('of bridges with a channel that posts only where it listens, all are ready and share the other chats', async () => {
  stage = createHealthStage()
  const changes = { posts: 'listener' } as const
  const members = [await startMember(changes), await startMember(changes)]
  await passes(async () => (await shards(members)).every((count) => count === 32))
  expect(await Promise.all(members.map(({ get }) => get('/readyz')))).toEqual([ready, ready])
  const receiving = async () => await Promise.all(members.map(async ({ get }) => (await get('/readyz/own'))[1]))
  expect(await receiving()).toEqual(['receiving\n', 'elsewhere\n'])
  const stopping = members[0]?.bridge.stop()
  await passes(async () => (await receiving())[1] === 'receiving\n')
  await stopping
  expect(members[0]?.notices).not.toContain('Another process listens to own.')
})

test('a member for which another channel posts only where it listens waits on standby, and says why', async () => {
  stage = createHealthStage()
  const [first, second] = [await startMember(), await stage.open({ listens: 'one', posts: 'listener' })]
  const starting = second.bridge.start()
  await expect.poll(() => second.bridge.status().state).toBe('standby')
  expect(await second.get('/readyz')).toEqual([503, expect.stringMatching(/^standby\n.*linked devices/)])
  const stopping = first.bridge.stop()
  await passes(() => second.bridge.status().state === 'ready')
  await Promise.all([starting, stopping])
})
