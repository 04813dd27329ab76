import type { REST } from '@discordjs/rest'
import type { Clock } from '@reply/core'
import {
  type BridgeChannel,
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createNotes,
  downloadFile,
  type Inbound,
  type InboundFile,
  isAskToken,
  loadClient,
  PortError,
  sinkOptionsOf,
  systemClock,
  tooLong,
} from '@reply/sink/channel'
import { discordRestOptions } from './api.ts'
import { discordChannel } from './channel.ts'
import { type DiscordConfig, discordConfig } from './config.ts'
import { accountIn, idIn, isReady } from './decode.ts'
import { DiscordError } from './error.ts'
import { toPortError } from './failure.ts'
import { createCatchUp } from './inbound/catch-up.ts'
import { createGateway, type Gateway, refusedToken } from './inbound/gateway.ts'
import { createDiscordPort } from './port.ts'
import { renderDiscord } from './render.ts'

/** Discord as a channel of a bridge. Needs the packages `@discordjs/rest`, and `discord.js` for the gateway. */
export const bridgeChannel: BridgeChannel<DiscordConfig> = {
  type: 'discord',
  schema: discordConfig,
  check: async (config, host) => ({ account: accountIn(await me(await connect(config, host), systemClock)) }),
  create: async (config, host) => {
    const rest = await connect(config, host)
    return connectionOf(config, host, { rest, gateway: await gatewayFor(config, host) })
  },
}

async function connect({ token, apiUrl }: DiscordConfig, host: Pick<ChannelHost, 'secret'>): Promise<REST> {
  const { REST } = await loadClient('@discordjs/rest', () => import('@discordjs/rest'))
  return new REST(restOptions(apiUrl)).setToken(host.secret(token))
}

function restOptions(apiUrl: string | undefined) {
  return { ...discordRestOptions, ...(apiUrl !== undefined && { api: apiUrl.replace(/\/+$/, '') }) }
}

async function gatewayFor({ updates, token, apiUrl }: DiscordConfig, host: ChannelHost): Promise<Gateway | undefined> {
  if (updates === 'http') return undefined
  const { Client, GatewayIntentBits } = await loadClient('discord.js', () => import('discord.js'))
  const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits
  const intents = [Guilds, GuildMessages, DirectMessages, MessageContent]
  const { clock, onError } = host
  return createGateway({
    connect: () => new Client({ intents, rest: restOptions(apiUrl) }),
    ...{ token: host.secret(token), clock, onError },
  })
}

interface Clients {
  readonly rest: REST
  readonly gateway: Gateway | undefined
}

function connectionOf(config: DiscordConfig, host: ChannelHost, { rest, gateway }: Clients): BridgeConnection {
  const { clock, onInbound, onError } = host
  const { updates = 'gateway', publicKey, apiUrl } = config
  const commands = new Set<string>()
  const channel = discordChannel({
    ...{ rest, updates, client: gateway?.client, publicKey, commands },
    ...{ onInbound: (inbound) => onInbound(ownPress(inbound)), onError, clock, onlyFiles: true },
  })
  const { chats = async () => [] } = host
  const catchUp = createCatchUp({ rest, chats, handleEvent: channel.handleEvent, onError, clock })
  let catching = { abort: new AbortController(), ended: Promise.resolve() }
  gateway?.client.on('raw', (packet) => {
    if (!isReady(packet)) return
    const { abort, ended } = catching
    catching = { abort, ended: ended.then(() => catchUp(abort.signal)).catch(onError) }
  })
  const notes = createNotes({
    client: rest,
    clock,
    writerOf: ({ id }) => ({ port: createDiscordPort({ rest, channelId: id, clock }), render: renderDiscord }),
  })
  return {
    ...notes,
    start: async () => {
      // The gateway reports all other failures, and connects again.
      await me(rest, clock).catch((error: unknown) => {
        if (error instanceof DiscordError) throw error
      })
      catching = { ...catching, abort: new AbortController() }
      channel.start()
      await gateway?.start()
    },
    stop: async () => {
      catching.abort.abort()
      await gateway?.stop()
      await catching.ended
      await channel.stop()
    },
    sinkFor: (at, options) => channel.sinkFor(at, sinkOptionsOf(config, host, options)),
    download: async (file, { maxBytes, signal }) => {
      const what = `file ${file.name}`
      if ((file.size ?? 0) > maxBytes) throw tooLong(what, maxBytes)
      const cure = "Discord's addresses of files expire after a day: send the file again."
      return await downloadFile({
        url: trusted(file, apiUrl),
        maxBytes,
        signal,
        what,
        platform: 'Discord',
        cure,
        clock,
      })
    },
    setCommands: async (menu) => {
      const call = { what: 'commands', clock, toPortError }
      const id = idIn(await callPlatform((signal) => rest.get('/applications/@me', { signal }), call), 'commands')
      const body = menu.map(({ name, description }) => ({
        ...{ type: 1, name, description: description.slice(0, 100) },
        options: [{ type: 3, name: 'text', description: 'What the command is about.', required: false }],
      }))
      await callPlatform((signal) => rest.put(`/applications/${id}/commands`, { body, signal }), call)
      for (const { name } of menu) commands.add(name)
    },
    ...(updates === 'http' && { webhook: channel.webhook }),
  }
}

/** Buttons of notes have this package's ids, so that a press is acknowledged in time, but are the program's own. */
function ownPress(inbound: Inbound): Inbound {
  if (inbound.type !== 'press' || isAskToken(inbound.token)) return inbound
  return { ...inbound, isForeign: true }
}

/** Files are at Discord's own hosts. https://discord.com/developers/docs/reference#signed-attachment-cdn-urls */
function trusted({ ref, name }: InboundFile, apiUrl: string | undefined): string {
  const { protocol, hostname, origin } = new URL(ref)
  const isTheirs = protocol === 'https:' && /(?:^|\.)discord(?:app)?\.(?:com|net)$/.test(hostname)
  if (isTheirs || (apiUrl !== undefined && new URL(apiUrl).origin === origin)) return ref
  throw new PortError('refused', `file ${name}: it is not kept by Discord.`)
}

async function me(rest: REST, clock: Clock): Promise<unknown> {
  try {
    return await callPlatform((signal) => rest.get('/users/@me', { signal }), { what: 'users/@me', clock, toPortError })
  } catch (error) {
    if (error instanceof PortError && /\b401\b/.test(error.message)) throw refusedToken()
    throw error
  }
}
