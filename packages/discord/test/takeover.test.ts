import { EventEmitter } from 'node:events'
import { type Inbound, memoryStore } from '@reply/sink'
import { createHandClock, type HandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { type DiscordBridgeRest, snowflakeAt } from '../src/api.ts'
import { discordConnection } from '../src/connection.ts'
import { channelId, start, until } from './bot.ts'

/** The connection of a process with a client of its own, which is logged in. */
function processWith(
  rest: DiscordBridgeRest,
  clock: HandClock,
  sinceOf = async (since: number): Promise<number> => since,
  updates: 'gateway' | 'own' = 'gateway',
  chats: readonly string[] = [channelId],
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
      chats: async () => await Promise.all(chats.map(async (id) => ({ chat: { id }, since: await sinceOf(since) }))),
      onInbound: (inbound) => void received.push(inbound),
      onError: (error) => errors.push(error),
    },
  )
  const texts = (): readonly string[] => received.flatMap((one) => (one.type === 'text' ? [one.text] : []))
  return { client, connection, errors, received, texts }
}

const author = { id: '8', username: 'ada' }
/** What the messages of a server's channel have in common. */
const message = { channel_id: channelId, channel_type: 0, type: 0, author, mentions: [], attachments: [] }

/** A client whose calls are yours to answer. */
function stubRest(get: DiscordBridgeRest['get']): DiscordBridgeRest {
  const unused = async (): Promise<never> => {
    throw new Error('Not expected.')
  }
  return { get, post: unused, put: unused, patch: unused, delete: unused, on: () => {} }
}

/** Lets time pass until it is so. */
async function pass(clock: HandClock, isSo: () => boolean, stepMs = 250): Promise<void> {
  const settle = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))
  await until(() => {
    void clock.advance(stepMs, settle)
    return isSo()
  })
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
  const direct = { ...message, channel_id: '10', channel_type: 1 }
  client.emit('raw', { op: 0, t: 'MESSAGE_CREATE', d: { ...direct, id: '11', content: 'Heard.' } })
  await new Promise((resolve) => setImmediate(resolve))
  await connection.handleEvent({ t: 'MESSAGE_CREATE', d: { ...direct, id: '12', content: 'Passed on.' } })
  expect(texts()).toEqual(['Passed on.'])
  await connection.stop()
})

test('the first message of a session keeps the nickname, which only the gateway tells', async () => {
  const { discord, rest, clock } = await start()
  const { client, connection, received } = processWith(rest, clock)
  await clock.advance(1000)
  await connection.start()
  discord.say(channelId, 'While another listened.')
  await clock.advance(1000)
  const [first, second] = [discord.say(channelId, 'Now.'), discord.say(channelId, 'And now.')]
  const hears = (id: string, content: string): unknown =>
    client.emit('raw', { op: 0, t: 'MESSAGE_CREATE', d: { ...message, member: { nick: 'Annie' }, id, content } })
  client.emit('raw', sessionBegins)
  hears(first, 'Now.')
  await until(() => received.length >= 2)
  hears(second, 'And now.')
  await until(() => received.length >= 3)
  const said = received.map((one) => one.type === 'text' && [one.text, one.actor.name])
  expect(said.slice(1)).toEqual([
    ['Now.', 'Annie'],
    ['And now.', 'Annie'],
  ])
  await connection.stop()
})

test('a message that your program passes on waits for the missed ones of its chat, too', async () => {
  const { discord, rest, clock } = await start()
  const { client, connection, texts } = processWith(rest, clock, undefined, 'own')
  await clock.advance(1000)
  await connection.start()
  discord.say(channelId, 'While another listened.')
  await clock.advance(1000)
  const id = discord.say(channelId, 'Now.')
  client.emit('raw', sessionBegins)
  await connection.handleEvent({ t: 'MESSAGE_CREATE', d: { ...message, id, content: 'Now.' } })
  expect(texts()).toEqual(['While another listened.', 'Now.'])
  await connection.stop()
})

test('a message waits 2 s for calls that are not answered, a command not at all, and the missed ones arrive later', async () => {
  const clock = createHandClock()
  const missed = { ...message, id: String(snowflakeAt(clock.now() + 1)), content: 'Missed.' }
  let answer = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const rest = stubRest(async (route) => {
    if (!route.startsWith('/channels/')) return {}
    await answered
    return route.endsWith('/messages') ? [missed] : { type: 0, last_message_id: missed.id }
  })
  const { client, connection, texts, errors } = processWith(rest, clock, async (since) =>
    // As the bridge would tell it later.
    texts().length === 0 ? since : clock.now(),
  )
  await connection.start()
  client.emit('raw', sessionBegins)
  await clock.advance(1000)
  const contents = ['yes', '/stop', '<@700000000000000007> /stop now']
  for (const [index, content] of contents.entries())
    client.emit('raw', {
      op: 0,
      t: 'MESSAGE_CREATE',
      d: { ...message, id: String(snowflakeAt(clock.now()) + BigInt(index)), content },
    })
  await until(() => texts().length === 2)
  expect(texts()).toEqual(['/stop', '/stop now'])
  await clock.advance(1999)
  await new Promise((resolve) => setImmediate(resolve))
  expect(texts()).toHaveLength(2)
  await clock.advance(1)
  await until(() => texts().length === 3)
  expect(texts()[2]).toBe('yes')
  answer()
  await until(() => texts().length === 4)
  expect([texts()[3], errors]).toEqual(['Missed.', []])
  await connection.stop()
})

/** Discord's limit for a bot, and one that its headers may tell. */
test.each([50, 7])(
  'of 400 chats in which people write again, none loses a message at %i calls a second',
  async (most) => {
    const clock = createHandClock()
    const ids = Array.from({ length: 400 }, (_, index) => String(200_000_000_000_000_000n + BigInt(index)))
    const of = (id: string, atMs: number, content: string) => {
      return { ...message, channel_id: id, id: String(snowflakeAt(atMs) + BigInt(id.slice(-3))), content }
    }
    const missedAt = clock.now() + 1
    let made: readonly number[] = []
    let refused = 0
    const rest = stubRest(async (route) => {
      const now = clock.now()
      made = made.filter((at) => at > now - 1000)
      if (made.length >= most) {
        refused += 1
        const retryAfter = (made[0] ?? now) + 1000 - now
        throw Object.assign(new Error('Rate limit'), { retryAfter, timeToReset: retryAfter, global: true })
      }
      made = [...made, now]
      const [, , id = ''] = route.split('/')
      const missed = of(id, missedAt, 'Missed.')
      return route.endsWith('/messages') ? [missed] : { type: 0, last_message_id: missed.id }
    })
    const { client, connection, received, errors } = processWith(rest, clock, undefined, 'gateway', ids)
    await connection.start()
    client.emit('raw', sessionBegins)
    await clock.advance(1000)
    for (const id of ids) client.emit('raw', { op: 0, t: 'MESSAGE_CREATE', d: of(id, clock.now(), 'Now.') })
    await pass(clock, () => received.length >= 800 || errors.length > 0)
    await connection.stop()
    const said = received.flatMap((one) => (one.type === 'text' ? [`${one.chat.id} ${one.text}`] : []))
    expect(said.toSorted()).toEqual(ids.flatMap((id) => [`${id} Missed.`, `${id} Now.`]).toSorted())
    expect([errors, refused > 0]).toEqual([[], most === 7])
  },
)

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
