import { systemClock } from '@reply/core'
import { type Inbound, memoryStore } from '@reply/sink'
import { type BridgeStage, bridgeChannelContract, type SharedAccount } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { startDiscord } from '@reply/testing/discord'
import { expect, test, vi } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { bridgeChannel } from '../src/bridge.ts'
import { discordConnection } from '../src/connection.ts'
import { channelId, clientOf, token, watched } from './bot.ts'

/** A channel of the fake Discord, reached through the real discord.js. */
async function setup(): Promise<BridgeStage> {
  const discord = await startDiscord({ token })
  const ours = () => discord.screen(channelId).filter(({ from }) => from === 'bot')
  return {
    channel: bridgeChannel,
    config: { type: 'discord', token: { env: 'TOKEN' }, apiUrl: discord.url },
    secret: () => token,
    chat: { id: channelId, kind: 'shared' },
    account: '@reply',
    writeText: ({ text, isMention, replyTo, file }) => {
      const how = { mention: isMention === true, ...(replyTo && { replyTo: replyTo.id }), ...(file && { file }) }
      discord.say(channelId, text, how)
    },
    press: (label) => void discord.press(channelId, ours().at(-1)?.messageId ?? '', label),
    screen: () =>
      ours().map(({ messageId, text, rows }) => ({
        id: messageId,
        text,
        buttons: rows.map((row) =>
          row.flatMap((each) => (each.type === 'button' ? [{ label: each.label, data: each.customId }] : [])),
        ),
      })),
    isTyping: () => discord.typing(channelId),
    commands: () => discord.commands,
    close: () => discord.close(),
    connections: () => discord.connected,
    keepsMessages: true,
    shareAccount,
  }
}

/** A bot of the fake Discord that several of the real clients use. */
async function shareAccount(): Promise<SharedAccount> {
  const clock = createHandClock()
  const discord = await startDiscord({ token, clock })
  const inFlight = createInFlight()
  return {
    clock,
    pass: async (ms) => await clock.advance(ms, inFlight.rest),
    connect: (host) => {
      const client = clientOf(discord, clock)
      const rest = { ...watched(client, inFlight), get: client.get.bind(client) }
      return discordConnection({ rest, updates: 'http', publicKey: discord.publicKey }, host)
    },
    chats: Array.from({ length: 60 }, (_, index) => ({
      id: String(BigInt(channelId) + BigInt(1000 + index)),
      kind: 'shared',
    })),
    budget: 'calls',
    arrivals: () => discord.calls.map(({ at }) => at),
    refused: () => discord.calls.filter(({ status, fault }) => status === 429 || fault === 'rate-limited').length,
    refuseNext: () => discord.inject({ type: 'rate-limited', scope: 'global', retryAfterS: 3 }),
    close: () => discord.close(),
  }
}

const clauses = bridgeChannelContract({ name: 'Discord', setup })
test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())

test('a file at another host is not read', async () => {
  const config = bridgeChannel.schema.parse({ type: 'discord', token: { env: 'TOKEN' } })
  const secret = (): string => token
  const connection = await bridgeChannel.create(config, hostWith(secret))
  const file = { ref: 'https://example.org/cdn.discordapp.com', name: 'a.txt', mime: 'text/plain' }
  await expect(connection.download(file, { maxBytes: 9 })).rejects.toMatchObject({ type: 'refused' })
})

test('requests need a public key, and only then are there requests', async () => {
  const config = { type: 'discord', token: { env: 'TOKEN' }, updates: 'http' }
  expect(bridgeChannel.schema.safeParse(config).error?.issues[0]?.message).toContain('need a publicKey')
  const connection = await bridgeChannel.create(
    bridgeChannel.schema.parse({ ...config, publicKey: 'a'.repeat(64) }),
    hostWith(() => token),
  )
  expect(connection.webhook?.refuse({ method: 'POST', headers: {} })).toEqual({ status: 401 })
})

test('frames that discord.js cannot read are reported, and the next message arrives', async () => {
  const discord = await startDiscord({ token })
  const errors: Error[] = []
  const received: Inbound[] = []
  const connection = await bridgeChannel.create(
    bridgeChannel.schema.parse({ type: 'discord', token: { env: 'TOKEN' }, apiUrl: discord.url }),
    {
      ...hostWith(() => token),
      onError: (error) => errors.push(error),
      onInbound: (inbound) => void received.push(inbound),
    },
  )
  await connection.start()
  await vi.waitUntil(() => discord.connected === 1)
  const frames = ['{"op":0,"t":"MESSAGE_CREATE","d":null}', '{"op":0,"t":"GUILD_CREATE","d":12}', '{"op":10}']
  for (const frame of ['{', 'null', ...frames]) discord.pushFrame(frame)
  discord.say(channelId, 'Still there?', { mention: true })
  await vi.waitUntil(() => received.length === 1)
  // The first has the type of an event that the channel reads itself.
  expect(errors.map(({ message }) => message)).toEqual([
    "Skipped a Discord event that can't be read.",
    ...frames.map(() => "A frame of Discord's gateway can't be read and was skipped: TypeError."),
  ])
  await connection.stop()
  await discord.close()
})

function hostWith(secret: () => string) {
  const ignore = (): void => {}
  return { name: 'dc', secret, store: memoryStore(), clock: systemClock, onError: ignore, onInbound: ignore }
}

test('a link opens a message of a server or a private chat, which is looked up once', async () => {
  const clock = createHandClock()
  const discord = await startDiscord({ token, clock })
  const ignore = (): void => {}
  const host = { name: 'dc', secret: () => token, store: memoryStore(), clock: systemClock }
  const connection = discordConnection(
    { rest: clientOf(discord, clock), updates: 'http', publicKey: discord.publicKey },
    { ...host, onInbound: ignore, onError: ignore },
  )
  const links = async () =>
    await Promise.all([
      connection.linkTo?.({ id: channelId }, { id: '12' }),
      connection.linkTo?.({ id: channelId }, undefined),
      connection.linkTo?.({ id: '3', kind: 'private' }, { id: '12' }),
    ])
  const server = `https://discord.com/channels/900000000000000001/${channelId}`
  const expected = [`${server}/12`, server, 'https://discord.com/channels/@me/3/12']
  expect(await links()).toEqual(expected)
  await discord.close()
  expect(await links()).toEqual(expected)
  expect(await connection.linkTo?.({ id: String(BigInt(channelId) + 1n) }, { id: '12' })).toBeUndefined()
})
