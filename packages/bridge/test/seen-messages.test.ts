import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createSeenMessages, receivedAgoMs } from '../src/chats/seen-messages.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import { createMemoryStore } from '../src/store/memory.ts'

const dayMs = 86_400_000

function open() {
  const clock = createHandClock(10 * dayMs)
  const store = createMemoryStore({ clock })
  const messages = createSeenMessages({ state: store, mirrors: createMirrors([['tg:1', 'dc:9']]), clock })
  const place = (channel: string, id: string, thread?: string) => ({ channel, chat: { id, ...(thread && { thread }) } })
  return { clock, store, messages, place }
}

test('the chats of a channel that have a route, or a mirror, are known, with the time of their newest message', async () => {
  const { clock, store, messages, place } = open()
  const [busy, quiet, thread, other] = [place('dc', '7'), place('dc', 'a/b'), place('dc', '7', '3'), place('dc2', '8')]
  const routes = ['dc/7/', 'dc/a%2Fb/', 'dc/7/3', 'dc2/8/'].map((key) => ({ key: `route/${key}`, value: '{}' }))
  const now = clock.now()
  await store.commit([
    ...routes.map((route) => ({ type: 'put', ...route }) as const),
    messages.writeSeen(busy, { id: '1', postedAt: now - 5000 }),
    messages.writeSeen(busy, { id: '2', postedAt: now - 9000 }),
    messages.writeSeen(other, { id: '1', postedAt: now }),
  ])
  expect(await messages.chatsOf('dc')).toEqual([
    { chat: busy.chat, since: now - 5000 },
    { chat: thread.chat, since: now - 5000 },
    { chat: quiet.chat, since: now - 2 * dayMs },
    { chat: { id: '9' }, since: now - 2 * dayMs },
  ])
})

test('a message that is received while the chats are asked for does not count as their newest one', async () => {
  const { clock, store, place } = open()
  const now = clock.now()
  const live = { id: '2', postedAt: now }
  const state = {
    list: async (prefix: string) => {
      await clock.advance(10)
      await store.commit([messages.writeSeen(place('dc', '7'), live)])
      await clock.advance(5)
      return await store.list(prefix)
    },
  }
  const messages = createSeenMessages({ state, mirrors: createMirrors([]), clock })
  await store.commit([
    { type: 'put', key: 'route/dc/7/', value: '{}' },
    messages.writeSeen(place('dc', '7'), { id: '1', postedAt: now - 5000 }),
  ])
  expect(await messages.chatsOf('dc')).toEqual([{ chat: { id: '7' }, since: now - 5000 }])
  await clock.advance(1)
  expect(await createSeenMessages({ state: store, mirrors: createMirrors([]), clock }).chatsOf('dc')).toEqual([
    { chat: { id: '7' }, since: now },
  ])
})

test('a message is taken once in two days', async () => {
  const { clock, store, messages, place } = open()
  const take = async () => await store.commit([messages.writeSeen(place('dc', '7'), { id: '1' })])
  expect(await take()).toMatchObject({ type: 'done' })
  expect(await take()).not.toMatchObject({ type: 'done' })
  await clock.advance(2 * dayMs + 1)
  expect(await take()).toMatchObject({ type: 'done' })
})

test('the newest message counts, though the clock of this machine is days ahead of the store’s and the platform’s', async () => {
  const { clock, store, place } = open()
  const platformNow = clock.now()
  const ahead = { ...clock, now: () => clock.now() + 9 * dayMs }
  const messages = createSeenMessages({ state: store, mirrors: createMirrors([]), clock: ahead })
  await store.commit([
    { type: 'put', key: 'route/dc/7/', value: '{}' },
    messages.writeSeen(place('dc', '7'), { id: '1', postedAt: platformNow - 1000 }),
  ])
  await clock.advance(dayMs)
  expect(await messages.chatsOf('dc')).toEqual([{ chat: { id: '7' }, since: platformNow - 1000 }])
  expect(await receivedAgoMs(store, place('dc', '7'), { id: '1' })).toBe(dayMs)
  expect(await receivedAgoMs(store, place('dc', '7'), { id: '2' })).toBe(Number.POSITIVE_INFINITY)
})

test('a message that waited before it was stored was received then, at most a day ago', async () => {
  const { store, messages, place } = open()
  await store.commit([
    messages.writeSeen(place('dc', '7'), { id: '1' }, 20_000),
    messages.writeSeen(place('dc', '7'), { id: '2' }, 3 * dayMs),
  ])
  const agoMs = async (id: string): Promise<number> => await receivedAgoMs(store, place('dc', '7'), { id })
  expect([await agoMs('1'), await agoMs('2')]).toEqual([20_000, dayMs])
})
