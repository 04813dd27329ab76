import type { Clock } from '@reply/core'
import type { Inbound, InboundFile } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createListening,
  createNotes,
  downloadFile,
  isAskToken,
  PortError,
  pacerOf,
  sinkOptionsOf,
} from '@reply/sink/channel'
import { createRecent, type SinkFields, tooLargeError } from '@reply/sink/internal'
import type { DiscordBridgeRest } from './api.ts'
import { type CatchUp, createCatchUp } from './catch-up.ts'
import { type DiscordChannel, type DiscordChannelOptions, discordChannel } from './channel.ts'
import { DiscordError, toPortError } from './error.ts'
import { type Gateway, refusedTokenError } from './gateway.ts'
import { beginsSession, channelIn, idIn, newMessageIn } from './inbound.ts'
import { discordLimits } from './limits.ts'
import { createDiscordPort } from './port.ts'
import { renderDiscord } from './render.ts'

/** Your own bot, and how its replies are shown. */
export interface DiscordConnectionOptions
  extends SinkFields,
    Pick<DiscordChannelOptions, 'updates' | 'client' | 'publicKey'> {
  /** `new REST(discordRestOptions).setToken(token)`, or a discord.js client's `client.rest`. */
  readonly rest: DiscordBridgeRest
}

/** For how many channels the server is remembered. */
const mostServerIDs = 1000

/** A bot that a bridge can use. */
export interface DiscordConnection extends BridgeConnection, Pick<DiscordChannel, 'handleEvent'> {}

/**
 * Connects your own bot to a bridge: pass it in the bridge's `connections`. Makes no call before `start`. You log the client
 * in and destroy it.
 */
export function discordConnection(options: DiscordConnectionOptions, host: ChannelHost): DiscordConnection {
  return gatewayConnection(options, host)
}

/** Like `discordConnection`, with a gateway that the connection logs in and closes. */
export function gatewayConnection(
  { rest, client, updates, publicKey, ...fields }: DiscordConnectionOptions,
  host: ChannelHost,
  gateway?: Pick<Gateway, 'start' | 'stop'>,
): DiscordConnection {
  const { clock, onInbound, onError } = host
  const commands = new Set<string>()
  const channel = discordChannel({
    rest,
    // The connection passes the events of the client on itself.
    updates: updates === 'gateway' && client ? 'own' : updates,
    client,
    publicKey,
    commands,
    onInbound: (inbound, id) => onInbound(withForeignPress(inbound), id),
    onError,
    clock,
    onlyFiles: true,
  })
  const catchUp = createCatchUp(rest, host, channel.handleEvent)
  let abort = new AbortController()
  /** The messages from before the session. Undefined before the first one. */
  let missed: CatchUp | undefined
  const notes = createNotes({
    client: rest,
    clock,
    writerOf: ({ id }) => ({ port: createDiscordPort({ rest, channelId: id, clock }), render: renderDiscord }),
  })
  const listening = createListening({
    check: async () => {
      await readAccount(rest, clock).catch((error: unknown) => {
        if (error instanceof DiscordError) throw error
      })
    },
    begin: async () => {
      abort = new AbortController()
      missed = undefined
      client?.on('raw', onRaw)
      channel.start()
      // The session of your own client may have begun before this process was to receive.
      if (!gateway && client?.user) readMissed()
      await gateway?.start()
    },
    end: async () => {
      client?.off('raw', onRaw)
      abort.abort()
      await gateway?.stop()
      await missed?.ended
      await channel.stop()
    },
  })
  /** By channel: the id of its server, or `@me` for a private chat. */
  const serverIDs = createRecent<string>(mostServerIDs)
  return {
    ...notes,
    ...listening,
    budgets: pacerOf(rest, clock).sharedBudgets(discordLimits),
    // Discord sends each event to all sessions, and an interaction can be answered once.
    // https://docs.discord.com/developers/events/gateway#sharding
    listens: updates === 'gateway' ? 'one' : 'anywhere',
    posts: 'anywhere',
    // Only within a session. At its start, the connection reads the missed messages.
    deliversOnce: true,
    sinkFor: (at, options) => channel.sinkFor(at, sinkOptionsOf(fields, host, options)),
    // https://docs.discord.com/developers/reference#message-formatting
    linkTo: async ({ id, kind }, message) => {
      const server = kind === 'private' ? '@me' : await serverOf(id)
      return server && `https://discord.com/channels/${[server, id, ...(message ? [message.id] : [])].join('/')}`
    },
    download: async (file, { maxBytes, signal }) => {
      const what = `file ${file.name}`
      if ((file.size ?? 0) > maxBytes) throw tooLargeError(what, maxBytes, file.size)
      const cure = "Discord's addresses of files expire after a day: send the file again."
      return await downloadFile({
        url: trustedUrl(file, rest.options?.api),
        maxBytes,
        signal,
        what,
        platform: 'Discord',
        cure,
        clock,
      })
    },
    handleEvent: passOn,
    setCommands: async (menu) => {
      // Discord may know them already, from another process, even if these calls fail.
      for (const { name } of menu) commands.add(name)
      const call = { what: 'commands', clock, toPortError }
      const id = idIn(await callPlatform((signal) => rest.get('/applications/@me', { signal }), call), 'commands')
      const body = menu.map(({ name, description }) => ({
        type: 1,
        name,
        description: description.slice(0, 100),
        options: [{ type: 3, name: 'text', description: 'What the command is about.', required: false }],
      }))
      await callPlatform((signal) => rest.put(`/applications/${id}/commands`, { body, signal }), call)
    },
    ...(updates === 'http' && { webhook: { refuse: channel.refuse, take: channel.webhook } }),
  }

  /** Resolves with the id of the channel's server, or `@me` for a private chat. Undefined if Discord doesn't tell. */
  async function serverOf(channelID: string): Promise<string | undefined> {
    const known = serverIDs.get(channelID)
    if (known !== undefined) return known
    const call = { what: 'the channel of a link', clock, toPortError }
    try {
      const read = await callPlatform((signal) => rest.get(`/channels/${channelID}`, { signal }), call)
      const { serverID = '@me' } = channelIn(read)
      serverIDs.set(channelID, serverID)
      return serverID
    } catch {
      return undefined
    }
  }

  /** Passes an event on, unless your program does, and reads the missed messages when a session begins. */
  function onRaw(packet: unknown): void {
    if (beginsSession(packet)) readMissed()
    if (updates === 'gateway') void passOn(packet)
  }

  /**
   * Passes an event on. A message waits for the missed ones of its chat, which were written before it, unless it is a command. After a
   * stop it is missed itself, and read by the next session.
   */
  async function passOn(packet: unknown): Promise<void> {
    const { signal } = abort
    const message = newMessageIn(packet)
    if (message && missed && !signal.aborted) {
      const read = missed.readBefore(message)
      if (!message.isCommand) await read
      if (signal.aborted) return
    }
    await channel.handleEvent(packet)
  }

  /** Reads the missed messages in the background, after those of an earlier session. */
  function readMissed(): void {
    missed = catchUp(abort.signal)
  }
}

/**
 * Returns a press of a note's button as foreign, because it belongs to no ask. Other inbounds are unchanged. Notes' buttons
 * have this package's ids, so that a press is acknowledged in time.
 */
function withForeignPress(inbound: Inbound): Inbound {
  if (inbound.type !== 'press' || isAskToken(inbound.token)) return inbound
  return { ...inbound, isForeign: true }
}

/**
 * Returns the URL of a file. Throws `refused` unless it is at Discord's own hosts or at `apiUrl`.
 * https://discord.com/developers/docs/reference#signed-attachment-cdn-urls
 */
function trustedUrl({ ref, name }: InboundFile, apiUrl: string | undefined): string {
  const { protocol, hostname, origin } = new URL(ref)
  const isTheirs = protocol === 'https:' && /(?:^|\.)discord(?:app)?\.(?:com|net)$/.test(hostname)
  if (isTheirs || (apiUrl !== undefined && new URL(apiUrl).origin === origin)) return ref
  throw new PortError('refused', `file ${name}: its address is not one of Discord's.`)
}

/** Resolves with the bot's own account. Rejects with a `DiscordError` if Discord refuses its token, or else a `PortError`. */
export async function readAccount(rest: Pick<DiscordBridgeRest, 'get'>, clock: Clock): Promise<unknown> {
  try {
    return await callPlatform((signal) => rest.get('/users/@me', { signal }), { what: 'users/@me', clock, toPortError })
  } catch (error) {
    if (error instanceof PortError && /\b401\b/.test(error.message)) throw refusedTokenError()
    throw error
  }
}
