import type { BridgeConnection } from '@reply/sink/channel'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createListeners } from '../src/members/listeners.ts'
import type { HeldLease } from '../src/members/membership.ts'

test('channels that post only where they listen share a lease, which is released once all of them have stopped', async () => {
  const log: string[] = []
  const stops = new Map<string, () => void>()
  const connection = (name: string, listens: 'one' | 'anywhere', posts: 'listener' | 'anywhere') => {
    const one = {
      ...{ listens, posts, check: async () => {} },
      start: async () => void log.push(`${name} starts`),
      stop: async () => {
        await new Promise<void>((resolve) => stops.set(name, resolve))
        log.push(`${name} stops`)
      },
    }
    return [name, one as unknown as BridgeConnection] as const
  }
  const listeners = createListeners({
    connections: new Map([
      connection('wa', 'one', 'listener'),
      connection('wb', 'one', 'listener'),
      connection('tg', 'one', 'anywhere'),
      connection('sl', 'anywhere', 'anywhere'),
    ]),
    ...{ chatsLeaseName: 'shard/listener', clock: createHandClock() },
    onStarted: () => {},
    onElsewhere: (name) => void log.push(`${name} is elsewhere`),
    onError: (error) => expect.fail(error.message),
  })
  expect(listeners.names()).toEqual(['shard/listener', 'channel/tg'])
  const lease = (name: string): HeldLease =>
    ({
      name,
      current: () => ({ name, holder: 'me', fence: 1, validForMs: 4000 }),
      release: async () => void log.push(`${name} is released`),
    }) as unknown as HeldLease
  const chats = lease('shard/listener')
  listeners.add(chats)
  await listeners.whenStarted()
  await listeners.startOthers()
  expect(log.splice(0).toSorted()).toEqual(['sl starts', 'tg is elsewhere', 'wa starts', 'wb starts'])
  const released = listeners.release(chats)
  await expect.poll(() => stops.size).toBe(2)
  // It was taken again meanwhile, so the channels start once they have stopped.
  listeners.add(lease('shard/listener'))
  stops.get('wa')?.()
  await expect.poll(() => log).toEqual(['wa stops', 'wa starts'])
  stops.get('wb')?.()
  await released
  expect(log).toEqual(['wa stops', 'wa starts', 'wb stops', 'wb starts', 'shard/listener is released'])
  // The lease of before stops nothing any more.
  listeners.drop(chats)
  await new Promise((resolve) => setImmediate(resolve))
  expect([log.length, stops.size]).toEqual([5, 2])
})
