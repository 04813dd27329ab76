import type { Clock } from '@reply/core'
import type { Inbound, InboundFile } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createNotes,
  downloadFile,
  isAskToken,
  PortError,
  sinkOptionsOf,
} from '@reply/sink/channel'
import { type SinkFields, tooLong } from '@reply/sink/internal'
import type { DiscordBridgeRest } from './api.ts'
import { type DiscordChannel, type DiscordChannelOptions, discordChannel } from './channel.ts'
import { idIn, isReady } from './decode.ts'
import { DiscordError } from './error.ts'
import { toPortError } from './failure.ts'
import { createCatchUp } from './inbound/catch-up.ts'
import { type Gateway, refusedToken } from './inbound/gateway.ts'
import { createDiscordPort } from './port.ts'
import { renderDiscord } from './render.ts'

/** A bot of the program's own, and how its replies are shown. */
export interface DiscordConnectionOptions
  extends SinkFields,
    Pick<DiscordChannelOptions, 'updates' | 'client' | 'publicKey'> {
  /** `new REST(discordRestOptions).setToken(token)`, or a discord.js client's `client.rest`. */
  readonly rest: DiscordBridgeRest
}

/** A bot as a bridge uses it. */
export interface DiscordConnection extends BridgeConnection, Pick<DiscordChannel, 'handleEvent'> {}

/**
 * Connects a bot of the program's own with a bridge, as one of its `connections`. Makes no call before `start`. The
 * program logs the client in, and ends it.
 */
export function discordConnection(options: DiscordConnectionOptions, host: ChannelHost): DiscordConnection {
  return gatewayConnection(options, host)
}

/** The same with a gateway that the connection logs in and ends. */
export function gatewayConnection(
  { rest, client, updates, publicKey, ...fields }: DiscordConnectionOptions,
  host: ChannelHost,
  gateway?: Pick<Gateway, 'start' | 'stop'>,
): DiscordConnection {
  const { clock, onInbound, onError } = host
  const commands = new Set<string>()
  const channel = discordChannel({
    rest,
    updates,
    client,
    publicKey,
    commands,
    onInbound: (inbound) => onInbound(ownPress(inbound)),
    onError,
    clock,
    onlyFiles: true,
  })
  const { chats = async () => [] } = host
  const catchUp = createCatchUp({ rest, chats, handleEvent: channel.handleEvent, onError, clock })
  let catching = { abort: new AbortController(), ended: Promise.resolve() }
  client?.on('raw', (packet) => {
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
    // In mid-session: at its start it reads what it missed.
    deliversOnce: true,
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
    sinkFor: (at, options) => channel.sinkFor(at, sinkOptionsOf(fields, host, options)),
    download: async (file, { maxBytes, signal }) => {
      const what = `file ${file.name}`
      if ((file.size ?? 0) > maxBytes) throw tooLong(what, maxBytes)
      const cure = "Discord's addresses of files expire after a day: send the file again."
      return await downloadFile({
        url: trusted(file, rest.options?.api),
        maxBytes,
        signal,
        what,
        platform: 'Discord',
        cure,
        clock,
      })
    },
    handleEvent: channel.handleEvent,
    setCommands: async (menu) => {
      const call = { what: 'commands', clock, toPortError }
      const id = idIn(await callPlatform((signal) => rest.get('/applications/@me', { signal }), call), 'commands')
      const body = menu.map(({ name, description }) => ({
        type: 1,
        name,
        description: description.slice(0, 100),
        options: [{ type: 3, name: 'text', description: 'What the command is about.', required: false }],
      }))
      await callPlatform((signal) => rest.put(`/applications/${id}/commands`, { body, signal }), call)
      for (const { name } of menu) commands.add(name)
    },
    ...(updates === 'http' && { webhook: { refuse: channel.refuse, take: channel.webhook } }),
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

/** The bot's own account. Rejects with a `DiscordError` if Discord refuses its token. */
export async function me(rest: Pick<DiscordBridgeRest, 'get'>, clock: Clock): Promise<unknown> {
  try {
    return await callPlatform((signal) => rest.get('/users/@me', { signal }), { what: 'users/@me', clock, toPortError })
  } catch (error) {
    if (error instanceof PortError && /\b401\b/.test(error.message)) throw refusedToken()
    throw error
  }
}
