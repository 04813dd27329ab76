import { EventEmitter } from 'node:events'
import { type Inbound, memoryStore } from '@reply/sink'
import { expect, test } from 'vitest'
import type { DiscordBridgeRest } from '../src/api.ts'
import { discordConnection } from '../src/connection.ts'
import { channelId, start, until } from './bot.ts'

/** The connection of a process with a client of its own, which is logged in. */
function processWith(
  rest: DiscordBridgeRest,
  clock: Awaited<ReturnType<typeof start>>['clock'],
  sinceOf = async (since: number): Promise<number> => since,
  updates: 'gateway' | 'own' = 'gateway',
) {
  const client = Object.assign(new EventEmitter(), { user: { id: '700000000000000007' } })
  const received: Inbound[] = []
  const errors: Error[] = []
  const since = clock.now()
  const connection = discordConnection(
    { rest, client, updates },
    {
      name: 'dc',
      secret: () => '',
      store: memoryStore(),
      clock,
      chats: async () => [{ chat: { id: channelId }, since: await sinceOf(since) }],
      onInbound: (inbound) => void received.push(inbound),
      onError: (error) => errors.push(error),
    },
  )
  const texts = (): readonly string[] => received.flatMap((one) => (one.type === 'text' ? [one.text] : []))
  return { client, connection, errors, texts }
}

/** A session that has just begun, as discord.js passes it on. */
const sessionBegins = { op: 0, t: 'READY', s: 1, d: { session_id: 'a' } }

test('a process whose client is logged in reads what was written before it began to listen, once', async () => {
  const { discord, rest, clock } = await start()
  const { client, connection, texts, errors } = processWith(rest, clock)
  await clock.advance(1000)
  discord.say(channelId, 'While another listened.')
  // Another one listens, so its session is not this one's to read for.
  client.emit('raw', sessionBegins)
  await connection.start()
  await until(() => texts().length === 1)
  await connection.stop()
  discord.say(channelId, 'Meanwhile.')
  await connection.start()
  await until(() => texts().length === 2)
  expect([texts(), errors]).toEqual([['While another listened.', 'Meanwhile.'], []])
  await connection.stop()
})

test('a message that arrives right after the session began waits for the missed ones of its chat', async () => {
  const { discord, rest, clock } = await start()
  const { client, connection, texts, errors } = processWith(rest, clock, async (since) => {
    await new Promise((resolve) => setImmediate(resolve))
    // As the bridge tells it: since the newest message that it received.
    return texts().length === 0 ? since : clock.now()
  })
  const hears = (d: unknown): unknown => client.emit('raw', { op: 0, t: 'MESSAGE_CREATE', d })
  await clock.advance(1000)
  await connection.start()
  const author = { id: '8', username: 'ada' }
  const message = { channel_id: channelId, channel_type: 0, type: 0, author, mentions: [], attachments: [] }
  discord.say(channelId, 'While another listened.')
  await clock.advance(1000)
  const id = discord.say(channelId, 'Now.')
  client.emit('raw', sessionBegins)
  hears({ ...message, id, content: 'Now.' })
  hears({ ...message, id: '9', channel_id: '10', content: 'Elsewhere.' })
  await until(() => texts().length === 3)
  expect(texts().filter((text) => text !== 'Elsewhere.')).toEqual(['While another listened.', 'Now.'])
  expect(errors).toEqual([])
  await connection.stop()
})

test('events that your program passes on are not heard from its client, too', async () => {
  const { rest, clock } = await start()
  const { client, connection, texts } = processWith(rest, clock, undefined, 'own')
  await connection.start()
  const author = { id: '8', username: 'ada' }
  const message = { channel_id: '10', channel_type: 1, type: 0, author, mentions: [], attachments: [] }
  client.emit('raw', { op: 0, t: 'MESSAGE_CREATE', d: { ...message, id: '11', content: 'Heard.' } })
  await new Promise((resolve) => setImmediate(resolve))
  await connection.handleEvent({ t: 'MESSAGE_CREATE', d: { ...message, id: '12', content: 'Passed on.' } })
  expect(texts()).toEqual(['Passed on.'])
  await connection.stop()
})

test('a stop leaves no listener on the client, and a second start none twice', async () => {
  const { rest, clock } = await start()
  const { client, connection } = processWith(rest, clock)
  expect(client.listenerCount('raw')).toBe(0)
  await Promise.all([connection.start(), connection.start()])
  await connection.start()
  expect(client.listenerCount('raw')).toBe(1)
  await connection.stop()
  expect(client.listenerCount('raw')).toBe(0)
})

test('a command that another process has set arrives, although this one can not set it', async () => {
  const { rest, clock } = await start()
  const { get, post, patch, delete: remove } = rest
  const refusing: DiscordBridgeRest = {
    ...{ get: get.bind(rest), post: post.bind(rest), patch: patch.bind(rest), delete: remove.bind(rest) },
    on: (event, listener) => rest.on(event, listener),
    put: async () => {
      throw Object.assign(new Error('Too many commands were set today.'), { status: 429 })
    },
  }
  const { connection, texts } = processWith(refusing, clock)
  await expect(connection.setCommands?.([{ name: 'new', description: 'Begins another session.' }])).rejects.toThrow()
  const d = {
    ...{ id: '1000000000000000000', token: 't', application_id: '7', type: 2, channel_id: channelId, context: 0 },
    ...{ user: { id: '8', username: 'ada' }, data: { id: '9', name: 'new', options: [] } },
  }
  void connection.handleEvent({ t: 'INTERACTION_CREATE', d })
  await until(() => texts().length === 1)
  expect(texts()).toEqual(['/new'])
  await connection.stop()
})
