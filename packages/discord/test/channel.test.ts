import type { Inbound } from '@reply/sink'
import { type DiscordInteraction, type DiscordOptions, startDiscord } from '@reply/testing/discord'
import { type Client, GatewayIntentBits } from 'discord.js'
import { afterEach, describe, expect, test } from 'vitest'
import { type DiscordChannel, type DiscordChannelOptions, discordChannel } from '../src/index.ts'
import { channelId, person, type Started, start, tellsNothing, token, until } from './bot.ts'
import { listening, logIn } from './client.ts'

interface Receiver extends Started {
  readonly channel: DiscordChannel
  readonly client: Client
  readonly received: Inbound[]
  readonly errors: Error[]
}

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
})

/** The real discord.js, logged in. */
async function receive(
  onInbound: (inbound: Inbound) => unknown = () => {},
  given: Partial<DiscordChannelOptions> = {},
  options: Partial<DiscordOptions> = {},
  intents?: GatewayIntentBits[],
): Promise<Receiver> {
  const started = await start(options)
  const { discord, rest, clock } = started
  const received: Inbound[] = []
  const errors: Error[] = []
  const client = listening(discord, intents)
  const channel = discordChannel({
    rest,
    clock,
    client,
    updates: 'gateway',
    onError: (error: Error) => errors.push(error),
    onInbound: (inbound) => {
      received.push(inbound)
      return onInbound(inbound)
    },
    ...given,
  })
  stops.push(() => channel.stop())
  channel.start()
  await logIn(client)
  return { ...started, channel, client, received, errors }
}

const button = { type: 1, components: [{ type: 2, style: 2, label: 'Yes', custom_id: 'reply:tok' }] }

async function ask({ rest }: Started, components: readonly unknown[] = [button]): Promise<string> {
  const posted = await rest.post(`/channels/${channelId}/messages`, { body: { content: '?', components } })
  return (posted as { id: string }).id
}

describe('over the gateway, with the real discord.js', () => {
  test('a text has its actor, chat and the message that it replies to', async () => {
    const { discord, received } = await receive()
    const first = discord.say(channelId, 'Hi', { from: person })
    const second = discord.say(channelId, '/stop now', { from: person, replyTo: first })
    await until(() => received.length === 2)
    const actor = { id: person.id, name: 'Ada' }
    expect(received).toMatchObject([
      { type: 'text', chat: { id: channelId }, actor, text: 'Hi', messageRef: { id: first }, isCommand: false },
      { type: 'text', text: '/stop now', messageRef: { id: second }, replyTo: { id: first }, isCommand: true },
    ])
  })

  test('only the person who pressed sees the answer to a press', async () => {
    const receiver = await receive(async (inbound) => {
      if (inbound.type === 'press') await inbound.answer('Taken *so*.')
      if (inbound.type === 'press') await inbound.answer('Twice.')
    })
    const messageId = await ask(receiver)
    const press = await receiver.discord.press(channelId, messageId, 'Yes', { from: person }).settled
    expect([press.status, press.texts]).toEqual(['answered', ['Taken \\*so\\*.']])
    expect(receiver.received).toMatchObject([
      { type: 'press', token: 'tok', chat: { id: channelId }, actor: { name: 'Ada' }, messageRef: { id: messageId } },
    ])
    expect(receiver.discord.count('callback')).toBe(1)
  })

  test('a direct message arrives, which discord.js itself would have dropped', async () => {
    const channels = [{ id: channelId, kind: 'direct' as const }]
    const { discord, received } = await receive(() => {}, {}, { channels })
    discord.say(channelId, 'Hi')
    await until(() => received.length === 1)
    expect(received).toMatchObject([{ type: 'text', text: 'Hi' }])
  })

  test('messages missed during a disconnect arrive', async () => {
    const { discord, received } = await receive()
    discord.dropGateway()
    await until(() => discord.connected === 0)
    discord.say(channelId, 'Hi')
    await until(() => received.length === 1)
  })

  test('without the MessageContent intent only mentions arrive', async () => {
    const { discord, received } = await receive(() => {}, {}, {}, [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
    ])
    discord.say(channelId, 'Hi')
    discord.say(channelId, 'Hi <@700000000000000001>')
    await until(() => received.length === 1)
    expect(received).toMatchObject([{ isMention: true, text: 'Hi' }])
  })
})

test('other buttons of the same bot reach the host unanswered, other commands do not reach it', async () => {
  const receiver = await receive(() => {}, { commands: ['ask'] })
  const { discord, client, received } = receiver
  const theirs = { type: 1, components: [{ type: 2, style: 2, label: 'Theirs', custom_id: 'theirs' }] }
  client.on('interactionCreate', (interaction) => {
    if (interaction.isButton() && interaction.customId === 'theirs') void interaction.deferUpdate()
    if (interaction.isCommand() && interaction.commandName === 'weather') void interaction.reply('Rain.')
  })
  const messageId = await ask(receiver, [theirs])
  await discord.press(channelId, messageId, 'Theirs').settled
  const weather = await discord.command(channelId, 'weather').settled
  expect(weather.texts).toEqual(['Rain.'])
  expect(received).toMatchObject([{ type: 'press', token: 'theirs', isForeign: true, messageRef: { id: messageId } }])
  expect(discord.count('callback')).toBe(2)
  const asked = await discord.command(channelId, 'ask', ['Why?']).settled
  expect(asked.texts).toEqual(['✅'])
  expect(received.slice(1)).toMatchObject([{ type: 'text', text: '/ask Why?', isCommand: true }])
})

describe('a press', () => {
  async function press(receiver: Receiver): Promise<DiscordInteraction> {
    const messageId = await ask(receiver)
    return receiver.discord.press(channelId, messageId, 'Yes')
  }

  test('is answered and reported if the host fails', async () => {
    const receiver = await receive(() => Promise.reject(new Error('broken')))
    const pressed = await (await press(receiver)).settled
    expect([pressed.status, pressed.texts]).toEqual(['deferred', []])
    const message = `A press in chat ${channelId} failed: broken`
    expect(receiver.errors).toMatchObject([{ type: 'inbound', message }])
  })

  test('is acknowledged in time and answered later if the host takes long', async () => {
    let release = (): void => {}
    const receiver = await receive(async (inbound) => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      if (inbound.type === 'press') await inbound.answer('At last.')
    })
    const pressed = await press(receiver)
    await until(() => receiver.received.length === 1)
    await receiver.clock.advance(2000)
    expect((await pressed.settled).status).toBe('deferred')
    release()
    expect((await pressed.received(1)).texts).toEqual(['At last.'])
    expect(receiver.discord.calls.filter(({ name }) => name === 'followUp')).toMatchObject([
      { body: { flags: 64 | 4, allowed_mentions: { parse: [] } } },
    ])
  })

  test('that comes too late fails; the reported error lacks the token', async () => {
    const { channel, errors } = await receive(() => {}, { updates: 'own' })
    const user = { id: person.id, username: 'ada' }
    const d = { id: '1', token: 'interaction-token-old', application_id: '2', type: 3, channel_id: channelId, user }
    await channel.handleEvent({ t: 'INTERACTION_CREATE', d: { ...d, data: { custom_id: 'reply:tok' } } })
    expect(errors).toMatchObject([{ type: 'answer', message: /10062 Unknown interaction/ }])
    for (const error of errors) tellsNothing(error)
  })
})

test("a text's answer is a reply that mentions no one", async () => {
  const { discord } = await receive(
    (inbound) => inbound.type === 'text' && inbound.answer('No such *option*, @everyone.'),
  )
  const asked = discord.say(channelId, 'Purple')
  await until(() => discord.screen(channelId).length === 2)
  const [, answer] = discord.screen(channelId)
  expect(answer).toMatchObject({ text: 'No such *option*, @\u200beveryone.', replyTo: asked })
  expect(discord.mentions(channelId)).toEqual([])
})

test('answers have no link previews', async () => {
  const receiver = await receive(async (inbound) => {
    if (inbound.type !== 'stop') await inbound.answer('https://a.example')
  })
  const { discord } = receiver
  discord.say(channelId, 'Purple')
  await until(() => discord.screen(channelId).length === 2)
  expect(discord.screen(channelId)[1]).toMatchObject({ loads: [] })
  const messageId = await ask(receiver)
  await discord.press(channelId, messageId, 'Yes', { from: person }).settled
  const flags = discord.calls.flatMap(({ name, body }) => (name === 'callback' ? [fieldsIn(body.data).flags] : []))
  expect(flags).toEqual([64 | 4])
})

function fieldsIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

test('each event is passed on once, and none after stop', async () => {
  const { discord, channel, received } = await receive()
  discord.say(channelId, 'one')
  await until(() => received.length === 1)
  await channel.stop()
  discord.say(channelId, 'two')
  const author = { id: '5', username: 'ada' }
  const d = { id: '77', channel_id: channelId, author, content: 'three', type: 0 }
  await Promise.all([1, 2].map(() => channel.handleEvent({ t: 'MESSAGE_CREATE', d })))
  expect(received.map((one) => one.type === 'text' && one.text)).toEqual(['one', 'three'])
})

test.each([
  ['a bot', { author: { id: '5', username: 'bot', bot: true } }],
  ['a webhook', { webhook_id: '9' }],
  ['a join message', { type: 7 }],
  ['a picture', { content: '' }],
])('messages from %s are ignored', async (_, more) => {
  const { channel, received, errors } = await receive(() => {}, { updates: 'own' })
  const author = { id: '5', username: 'ada' }
  const d = { id: '77', channel_id: channelId, author, content: 'x', type: 0, ...more }
  await channel.handleEvent({ t: 'MESSAGE_CREATE', d })
  await channel.handleEvent({ t: 'TYPING_START', d: {} })
  await channel.handleEvent('nothing')
  expect([received, errors]).toEqual([[], []])
})

test('an unreadable event is skipped and reported', async () => {
  const { channel, received, errors } = await receive(() => {}, { updates: 'own' })
  await channel.handleEvent({ t: 'MESSAGE_CREATE', d: { id: 5 } })
  await channel.handleEvent({ t: 'INTERACTION_CREATE', d: {} })
  expect([received, errors.map((error) => 'type' in error && error.type)]).toEqual([[], ['malformed', 'malformed']])
})

test('invalid options throw at once', async () => {
  const { rest } = await start()
  const make = (given: Partial<DiscordChannelOptions>) => () =>
    discordChannel({ rest, updates: 'own', onInbound: () => {}, ...given })
  expect(make({ updates: 'gateway' })).toThrow(/needs a client/)
  expect(make({ updates: 'http' })).toThrow(/publicKey/)
  expect(make({ updates: 'http', publicKey: 'abc' })).toThrow(/64 hexadecimal digits/)
  const channel = make({})()
  expect(() => channel.sinkFor({ chat: { id: 'general' } })).toThrow(/"general" is not a channelId/)
  expect(() => channel.sinkFor({ chat: { id: channelId } }, { thread: true })).toThrow(/created from a message/)
  const sink = channel.sinkFor({ chat: { id: channelId } })
  await sink.stop()
  expect(await sink.settled()).toMatchObject({ shown: 0, undelivered: [] })
})

test("discord.js reports a wrong token; our errors don't contain it", async () => {
  const discord = await startDiscord({ token: 'another' })
  stops.push(() => discord.close())
  const client = listening(discord)
  await expect(client.login(token)).rejects.toMatchObject({ code: 'TokenInvalid' })
})

test('a press is answered while all messages wait for a rate limit', async () => {
  const limited = { type: 'rate-limited', retryAfterS: 20, scope: 'global', call: 'post', nth: 2 } as const
  const answer = (inbound: Inbound): unknown => inbound.type !== 'stop' && inbound.answer('Yes.')
  const receiver = await receive(answer, {}, { faults: [limited] })
  const { discord } = receiver
  const messageId = await ask(receiver)
  discord.say(channelId, 'Hi', { from: person })
  await until(() => discord.calls.some(({ status }) => status === 429))
  expect((await discord.press(channelId, messageId, 'Yes', { from: person }).settled).texts).toEqual(['Yes.'])
  await receiver.clock.advance(5000)
})

test('an interaction is acknowledged 2 s after it arrived, also if the store takes longer', async () => {
  const never = new Promise<never>(() => {})
  const { discord, rest, clock } = await start()
  const store = { read: () => never, write: () => never }
  const channel = discordChannel({ rest, clock, store, updates: 'own', onInbound: () => {} })
  const interaction = { id: '800000000000000101', token: 'tok', application_id: '800000000000000102', type: 3 }
  const place = {
    channel_id: channelId,
    user: { id: person.id, username: 'ada' },
    message: { id: '800000000000000103' },
  }
  const d = { ...interaction, ...place, data: { custom_id: 'reply:r~tok' } }
  void channel.handleEvent({ t: 'INTERACTION_CREATE', d })
  await clock.advance(1999)
  expect(discord.calls).toEqual([])
  await clock.advance(1)
  await until(() => discord.calls.length === 1)
})
