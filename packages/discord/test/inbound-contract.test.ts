import { type InboundFault, type InboundStage, inboundContract } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { type DiscordCallName, type DiscordFault, startDiscord } from '@reply/testing/discord'
import { test } from 'vitest'
import { createArrivals } from '../../sink/test/arrivals.ts'
import { createInFlight, stalledIn } from '../../sink/test/in-flight.ts'
import { discordChannel } from '../src/index.ts'
import { channelId, clientOf, token, watched } from './bot.ts'
import { listening, logIn } from './client.ts'

const faults: Readonly<Record<InboundFault, DiscordFault>> = {
  'rate-limited': { type: 'rate-limited', retryAfterS: 1 },
  'limited-too-long': { type: 'rate-limited', retryAfterS: 600 },
  stalled: { type: 'stall' },
}

const writing: readonly DiscordCallName[] = ['post', 'edit', 'callback']

/** A bot on the gateway of the fake Discord, with the real discord.js. */
async function setup(): Promise<InboundStage> {
  const clock = createHandClock()
  const discord = await startDiscord({ token, clock })
  const inFlight = createInFlight(() => stalledIn(discord.calls))
  const button = { type: 2, style: 2, label: 'Yes', custom_id: 'reply:tok' }
  const own = { type: 2, style: 2, label: 'Own', custom_id: 'own' }
  const body = { content: '?', components: [{ type: 1, components: [button, own] }] }
  await clientOf(discord, clock).post(`/channels/${channelId}/messages`, { body })
  const messageId = discord.screen(channelId)[0]?.messageId ?? ''
  const begun = discord.calls.length
  const rest = watched(clientOf(discord, clock), inFlight)
  const client = listening(discord)
  const { host, listen, next } = createArrivals()
  const channel = discordChannel({ rest, clock, client, updates: 'gateway', ...host })
  channel.start()
  await logIn(client)
  return {
    clock,
    listen,
    pass: async (ms) => await clock.advance(ms, inFlight.rest),
    writeText: async () => await next(() => discord.say(channelId, 'Purple')),
    press: async () => await next(() => discord.press(channelId, messageId, 'Yes')),
    pressOwn: async () => await next(() => discord.press(channelId, messageId, 'Own')),
    faults: ['rate-limited', 'limited-too-long', 'stalled'],
    limitMs: 1000,
    failNext: (fault) => discord.inject({ ...faults[fault], call: writing }),
    calls: () =>
      discord.calls
        .slice(begun)
        .filter(({ name }) => writing.includes(name))
        .map(({ at }) => at),
    sink: () => channel.sinkFor({ chat: { id: channelId } }),
    close: async () => {
      await channel.stop()
      await client.destroy()
      await discord.close()
    },
  }
}

const clauses = inboundContract({ name: 'Discord', setup })
test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
