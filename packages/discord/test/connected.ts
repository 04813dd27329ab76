import { type Inbound, memoryStore } from '@reply/sink'
import type { InboundStatus } from '@reply/sink/channel'
import { createHandClock, type HandClock } from '@reply/testing'
import { type DiscordOptions, type FakeDiscord, startDiscord } from '@reply/testing/discord'
import { afterEach } from 'vitest'
import { bridgeChannel } from '../src/bridge.ts'
import { channelId, token, until } from './bot.ts'

const ended: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ended.splice(0)) await end()
})

export interface Connected {
  readonly discord: FakeDiscord
  readonly clock: HandClock
  readonly errors: readonly Error[]
  readonly told: readonly InboundStatus[]
  readonly received: readonly Inbound[]
  readonly connection: Awaited<ReturnType<typeof bridgeChannel.create>>
}

/** The real discord.js on the fake's gateway. Its own times are the computer's, those of the channel are by hand. */
export async function create(options: Partial<DiscordOptions> = {}): Promise<Connected> {
  const discord = await startDiscord({ token, ...options })
  const clock = createHandClock()
  const errors: Error[] = []
  const told: InboundStatus[] = []
  const received: Inbound[] = []
  const config = bridgeChannel.schema.parse({ type: 'discord', token: { env: 'TOKEN' }, apiUrl: discord.url })
  const connection = await bridgeChannel.create(config, {
    name: 'dc',
    secret: () => token,
    store: memoryStore(),
    clock,
    onError: (error) => errors.push(error),
    onInboundStatus: (hearing) => told.push(hearing),
    onInbound: (inbound) => void received.push(inbound),
  })
  ended.push(connection.stop, discord.close)
  return { discord, clock, errors, told, received, connection }
}

/** Says something, and waits until the channel has it. */
export async function heard(discord: FakeDiscord, received: readonly Inbound[]): Promise<void> {
  const before = received.length
  discord.say(channelId, 'Still there?', { mention: true })
  await until(() => received.length > before)
}
