import type { Inbound } from '@reply/sink'
import type { DiscordUser } from '@reply/testing/discord'
import { afterEach, describe, expect, test } from 'vitest'
import { toEvent } from '../src/inbound.ts'
import { type DiscordChannel, discordChannel } from '../src/index.ts'
import { channelId, person, type Started, start, until } from './bot.ts'
import { listening, logIn } from './client.ts'

const directId = '100000000000000011'
const groupId = '100000000000000012'
const threadId = '100000000000000013'
const channels = [
  { id: channelId, kind: 'text' as const },
  { id: directId, kind: 'direct' as const },
  { id: groupId, kind: 'group' as const },
  { id: threadId, kind: 'thread' as const, parentId: channelId },
]

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
})

interface Receiver extends Started {
  readonly channel: DiscordChannel
  readonly received: Inbound[]
}

/** Over the gateway, through the real discord.js. */
async function receive(): Promise<Receiver> {
  const started = await start({ channels })
  const { discord, rest, clock } = started
  const received: Inbound[] = []
  const client = listening(discord)
  const onInbound = (inbound: Inbound): unknown => received.push(inbound)
  const channel = discordChannel({ rest, clock, client, updates: 'gateway', commands: ['ask'], onInbound })
  stops.push(() => channel.stop())
  channel.start()
  await logIn(client)
  return { ...started, channel, received }
}

describe('a chat is private', () => {
  test('only in a direct message with the bot', async () => {
    const { discord, received } = await receive()
    for (const id of [channelId, threadId, directId]) discord.say(id, 'Hi')
    await until(() => received.length === 3)
    for (const id of [channelId, threadId, directId, groupId]) discord.command(id, 'ask')
    await until(() => received.length === 7)
    expect(received.map(({ chat }) => [chat.id, chat.kind])).toEqual([
      [channelId, 'shared'],
      [threadId, 'shared'],
      [directId, 'private'],
      [channelId, 'shared'],
      [threadId, 'shared'],
      [directId, 'private'],
      // A direct message between people: the bot isn't in it, and others may read along.
      [groupId, 'shared'],
    ])
  })

  const text = { id: '1000000000000000000', channel_id: directId, author: { id: '5', username: 'ada' }, type: 0 }
  const who = { user: { id: '5', username: 'ada' }, data: { name: 'ask' } }
  const command = { id: '1000000000000000000', token: 't', application_id: '7', type: 2, ...who }

  test.each<[string, object, Inbound['chat']]>([
    [
      'a text without the type of its channel',
      { t: 'MESSAGE_CREATE', d: { ...text, content: 'Hi' } },
      { id: directId },
    ],
    [
      'an interaction without a context',
      { t: 'INTERACTION_CREATE', d: { ...command, channel_id: directId, channel: { id: directId, type: 1 } } },
      { id: directId },
    ],
    [
      'an interaction between two people, whose channel has the type of a direct message',
      { t: 'INTERACTION_CREATE', d: { ...command, channel: { id: directId, type: 1 }, context: 2 } },
      { id: directId, kind: 'shared' },
    ],
  ])('only if the event says so: %s', async (_, packet, chat) => {
    const { rest, clock } = await start()
    const received: Inbound[] = []
    const onInbound = (inbound: Inbound): unknown => received.push(inbound)
    const channel = discordChannel({ rest, clock, updates: 'own', commands: ['ask'], onInbound })
    await channel.handleEvent(packet)
    expect(received.map((one) => one.chat)).toEqual([chat])
  })
})

test('messages and presses have the time when Discord accepted the message', async () => {
  const { discord, rest, received, clock } = await receive()
  await clock.advance(1234)
  const at = clock.now()
  const first = discord.say(channelId, 'Hi')
  await clock.advance(1000)
  discord.say(channelId, 'And', { replyTo: first })
  const button = { type: 1, components: [{ type: 2, style: 2, label: 'Yes', custom_id: 'reply:tok' }] }
  const posted = await rest.post(`/channels/${channelId}/messages`, { body: { content: '?', components: [button] } })
  const { id } = posted as { id: string }
  await clock.advance(1000)
  discord.press(channelId, id, 'Yes')
  await until(() => received.length === 3)
  expect(received).toMatchObject([
    { messageRef: { id: first, postedAt: at } },
    { messageRef: { postedAt: at + 1000 }, replyTo: { id: first, postedAt: at } },
    { type: 'press', messageRef: { id, postedAt: at + 1000 } },
  ])
})

// https://discord.com/developers/docs/interactions/application-commands#subcommands-and-subcommand-groups: the value of a
// subcommand is in its own `options`.
test('a subcommand arrives with its name and its values', async () => {
  const { discord, received } = await receive()
  discord.command(channelId, 'ask quick', ['Why?', 'now'])
  discord.command(channelId, 'ask team all', ['Why?'])
  discord.command(channelId, 'ask help')
  await until(() => received.length === 3)
  expect(received.map((one) => one.type === 'text' && [one.text, one.isCommand])).toEqual([
    ['/ask quick Why? now', true],
    ['/ask team all Why?', true],
    ['/ask help', true],
  ])
})

// `APIBaseInteraction` of discord-api-types: `channel_id` and `channel` are optional.
test.each<[string, object]>([
  ['its channel', { channel: { id: directId, type: 1 } }],
  ['the message that it was opened from', { message: { id: '1000000000000000009', channel_id: directId } }],
])('a dialog without `channel_id` is placed by %s', async (_, place) => {
  const { rest, clock } = await start()
  const received: Inbound[] = []
  const onInbound = (inbound: Inbound): unknown => received.push(inbound)
  const channel = discordChannel({ rest, clock, updates: 'own', onInbound })
  const fields = [{ type: 18, component: { type: 4, custom_id: '0.w', value: 'Blue' } }]
  const data = { custom_id: 'reply:tok', components: fields }
  const given = { id: '1000000000000000000', token: 't', application_id: '7', type: 5, data }
  await channel.handleEvent({ t: 'INTERACTION_CREATE', d: { ...given, user: { id: '5', username: 'ada' }, ...place } })
  expect(received).toMatchObject([{ type: 'press', token: 'tok', chat: { id: directId }, values: [['Blue']] }])
})

const ephemeral = 64
const ask = 'r~AbCd-_0123456789.0.f'

test.each<[string, number, object, string]>([
  ['a button counts on its message', 3, { message: { id: '11' } }, '11'],
  ['a dialog from a message counts on that message', 5, { message: { id: '11' } }, '11'],
  ['a dialog is about the message that it names', 5, {}, '12'],
  [
    'a button that opens a dialog later is about the message that it names',
    3,
    { message: { id: '11', flags: ephemeral } },
    '12',
  ],
  ['a message that all see names no other', 5, { message: { id: '11', flags: 4 } }, '11'],
])('%s', async (_, type, place, messageId) => {
  const { rest, clock } = await start()
  const received: Inbound[] = []
  const channel = discordChannel({ rest, clock, updates: 'own', onInbound: (inbound) => received.push(inbound) })
  const who = { user: { id: '5', username: 'ada' }, channel_id: directId }
  const given = { id: '1000000000000000000', token: 't', application_id: '7', type, ...who, ...place }
  await channel.handleEvent({ t: 'INTERACTION_CREATE', d: { ...given, data: { custom_id: `reply:${ask}@12` } } })
  expect(received).toMatchObject([{ type: 'press', token: ask, messageRef: { id: messageId } }])
})

// `APIMessageStringSelectInteractionData` of discord-api-types: `values` beside `custom_id`.
test("a select of the host's own reaches it with what was picked, and nothing answers before the host", async () => {
  const { rest, clock, discord } = await start()
  const received: Inbound[] = []
  const onInbound = (inbound: Inbound): unknown => received.push(inbound)
  const channel = discordChannel({ rest, clock, updates: 'own', onInbound })
  const data = { custom_id: 'theirs', component_type: 3, values: ['a', 'b'] }
  const given = { id: '1000000000000000000', token: 't', application_id: '7', type: 3, data, channel_id: directId }
  const d = { ...given, user: { id: '5', username: 'ada' }, message: { id: '1000000000000000009' } }
  await channel.handleEvent({ t: 'INTERACTION_CREATE', d })
  expect(received).toMatchObject([{ type: 'press', token: 'theirs', values: [['a', 'b']], isForeign: true }])
  await clock.advance(5000)
  expect(discord.calls).toEqual([])
})

test('a voice message has its length', async () => {
  const { discord, received } = await receive()
  const file = { name: 'voice-message.ogg', bytes: new Uint8Array(1), mime: 'audio/ogg', voiceSeconds: 2.5 }
  discord.say(directId, 'Listen', { file })
  await until(() => received.length === 1)
  expect(received).toMatchObject([{ files: [{ mime: 'audio/ogg', seconds: 2.5 }] }])
})

test("a forward arrives with the text and the files of the other message, and a mention in there isn't one", async () => {
  const { discord, received } = await receive()
  const file = { name: 'a.txt', bytes: new TextEncoder().encode('x') }
  const id = discord.say(channelId, 'See this', { mention: true, file })
  discord.forward(directId, { channelId, id })
  await until(() => received.length === 2)
  const [said, forwarded] = received
  expect(said).toMatchObject({ isMention: true, text: 'See this' })
  expect(forwarded).toMatchObject({ isForwarded: true, text: 'See this', files: [{ name: 'a.txt', size: 1 }] })
  expect(forwarded).not.toHaveProperty('isMention')
})

test("a forwarded message can't answer, and is not a reply", async () => {
  const { discord, channel, received } = await receive()
  const id = discord.say(channelId, '1')
  const forwarded = discord.forward(directId, { channelId, id })
  discord.say(directId, 'Hi')
  await until(() => received.length === 3)
  expect(received).toMatchObject([{ text: '1' }, { text: '1', isForwarded: true }, { text: 'Hi' }])
  expect(received[1]).not.toHaveProperty('replyTo')
  // In case Discord ever allows text with a forward.
  const reference = { message_id: id, channel_id: channelId, type: 1 }
  const author = { id: '5', username: 'ada' }
  for (const type of [0, 19])
    await channel.handleEvent({
      t: 'MESSAGE_CREATE',
      d: {
        id: `${forwarded}${type}`.slice(-19),
        channel_id: directId,
        author,
        content: '1',
        type,
        message_reference: reference,
      },
    })
  expect(received.slice(3)).toMatchObject(Array(2).fill({ text: '1', isForwarded: true }))
  expect(received.slice(3).filter((one) => 'replyTo' in one)).toEqual([])
})

test.each<[string, DiscordUser]>([
  ['another bot', { id: '800000000000000007', name: 'Other', isBot: true }],
  ['a webhook', { id: '800000000000000008', name: 'Hook', isWebhook: true }],
])('messages from %s are ignored', async (_, from) => {
  const { discord, received } = await receive()
  discord.say(channelId, '1', { from })
  discord.say(directId, '1', { from })
  discord.say(channelId, 'Hi', { from: person })
  await until(() => received.length > 0)
  expect(received).toMatchObject([{ text: 'Hi' }])
})

test("messages of Discord's own account, and events without a Discord id, are ignored too", async () => {
  const { channel, received } = await receive()
  const said = { channel_id: directId, content: '1', type: 0 }
  const system = { id: '643945264868098049', username: 'discord', system: true }
  await channel.handleEvent({ t: 'MESSAGE_CREATE', d: { ...said, id: '1000000000000000000', author: system } })
  expect(received).toEqual([])
  const author = { id: '5', username: 'ada' }
  await channel.handleEvent({ t: 'MESSAGE_CREATE', d: { ...said, id: 'odd', author } })
  expect(received).toMatchObject([{ messageRef: { id: 'odd' } }])
})

// https://discord.com/developers/docs/events/gateway-events#message-update
test('an edited message changes nothing', async () => {
  const { rest, clock } = await start()
  const received: Inbound[] = []
  const channel = discordChannel({ rest, clock, updates: 'own', onInbound: (inbound) => received.push(inbound) })
  const author = { id: '5', username: 'ada' }
  const d = { id: '1500000000000000001', channel_id: directId, type: 0, content: 'yes', attachments: [], author }
  await channel.handleEvent({ t: 'MESSAGE_UPDATE', d: { ...d, edited_timestamp: '2026-01-01T00:00:00Z' } })
  expect(received).toEqual([])
  await channel.handleEvent({ t: 'MESSAGE_CREATE', d })
  expect(received).toMatchObject([{ type: 'text', text: 'yes' }])
})

test('a sticker arrives with its name, also one without a text', () => {
  const author = { id: '800000000000000001', username: 'ann' }
  const d = { id: '1', channel_id: channelId, author, content: '', attachments: [], type: 0 }
  const filter = { commands: new Set<string>(), botId: () => undefined }
  const textOf = (more: object): unknown => toEvent({ t: 'MESSAGE_CREATE', d: { ...d, ...more } }, filter)?.received
  const sticker_items = [{ id: '2', name: 'Wave', format_type: 1 }]
  expect(textOf({ sticker_items })).toMatchObject({ type: 'text', text: 'Sticker: Wave' })
  expect(textOf({ sticker_items, content: 'Hi' })).toMatchObject({ text: 'Hi\n\nSticker: Wave' })
})
