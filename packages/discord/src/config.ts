import type { REST } from '@discordjs/rest'
import { systemClock } from '@reply/core'
import { type BridgeChannel, type ChannelHost, secretSource, sinkFields } from '@reply/sink/channel'
import { createInboundMonitor, loadClient } from '@reply/sink/internal'
import type { Client as DiscordJsClient } from 'discord.js'
import * as z from 'zod'
import { discordRestOptions } from './api.ts'
import { gatewayConnection, readAccount } from './connection.ts'
import { createGateway, type Gateway, guardFrames } from './gateway.ts'
import { botNameIn } from './inbound.ts'

/** A bot in a bridge's config. */
export const discordConfig = z
  .strictObject({
    type: z.literal('discord').describe('A Discord bot.'),
    token: secretSource.describe("The bot's token, from the page Bot of Discord's developer portal."),
    updates: z
      .enum(['gateway', 'http'])
      .optional()
      .describe('Where events come from: the gateway, or requests, which bring no messages. Default: gateway.'),
    publicKey: z
      .string()
      .regex(/^[\da-f]{64}$/i)
      .optional()
      .describe('With updates "http": the public key of the application, 64 hexadecimal digits.'),
    apiUrl: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('The address of the REST API. Default: https://discord.com/api.'),
    ...sinkFields,
  })
  .refine(({ updates, publicKey }) => updates !== 'http' || publicKey !== undefined, {
    path: ['publicKey'],
    message: 'Requests from Discord need a publicKey: without one, anyone could post to the URL.',
  })

/** The config of a Discord bot. */
export type DiscordConfig = z.infer<typeof discordConfig>

/** Discord as a channel of a bridge. Needs the packages `@discordjs/rest`, and `discord.js` for the gateway. */
export const bridgeChannel: BridgeChannel<DiscordConfig> = {
  type: 'discord',
  schema: discordConfig,
  check: async (config, host) => ({
    account: botNameIn(await readAccount(await createDiscordRest(config, host), systemClock)),
  }),
  create: async (config, host) => {
    const { updates = 'gateway', publicKey, policy, texts } = config
    const rest = await createDiscordRest(config, host)
    const gateway = await createGatewayFor(config, host)
    return gatewayConnection({ rest, client: gateway?.client, updates, publicKey, policy, texts }, host, gateway)
  },
}

/** Loads the client's package and creates a client. Rejects if it is not installed. Makes no call. */
async function createDiscordRest({ token, apiUrl }: DiscordConfig, host: Pick<ChannelHost, 'secret'>): Promise<REST> {
  const { REST } = await loadClient('@discordjs/rest', () => import('@discordjs/rest'))
  return new REST(restOptions(apiUrl)).setToken(host.secret(token))
}

/** Returns the options of the client, with the address of the API, without trailing slashes, if it is another. */
function restOptions(apiUrl: string | undefined) {
  return { ...discordRestOptions, ...(apiUrl !== undefined && { api: apiUrl.replace(/\/+$/, '') }) }
}

/** Creates the gateway, which doesn't log in before `start`. Undefined with `updates: "http"`. */
async function createGatewayFor(
  { updates, token, apiUrl }: DiscordConfig,
  host: ChannelHost,
): Promise<Gateway | undefined> {
  if (updates === 'http') return undefined
  const { Client, GatewayIntentBits, SimpleShardingStrategy } = await loadClient(
    'discord.js',
    () => import('discord.js'),
  )
  const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits
  const intents = [Guilds, GuildMessages, DirectMessages, MessageContent]
  const ws = {
    buildStrategy: (manager: ConstructorParameters<typeof SimpleShardingStrategy>[0]) =>
      guardFrames(new SimpleShardingStrategy(manager), host.onError),
  }
  const createClient = (): DiscordJsClient => new Client({ intents, ws, rest: restOptions(apiUrl) })
  return createGateway(createClient, host.secret(token), createInboundMonitor(host), host)
}
