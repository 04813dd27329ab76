import type { Clock } from '@reply/core'
import type { Inbound, InboundFile } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createNotes,
  downloadFile,
  isAskToken,
  type KnownChat,
  PortError,
  sinkOptionsOf,
} from '@reply/sink/channel'
import { backOffMs, pause, type SinkFields, tooLargeError } from '@reply/sink/internal'
import { type DiscordBridgeRest, snowflakeAt } from './api.ts'
import { type DiscordChannel, type DiscordChannelOptions, discordChannel } from './channel.ts'
import { DiscordError, toPortError } from './error.ts'
import { type Gateway, refusedToken } from './gateway.ts'
import { channelIn, idIn, isReady, messagesIn } from './inbound.ts'
import { createDiscordPort } from './port.ts'
import { renderDiscord } from './render.ts'

/** Your own bot, and how its replies are shown. */
export interface DiscordConnectionOptions
  extends SinkFields,
    Pick<DiscordChannelOptions, 'updates' | 'client' | 'publicKey'> {
  /** `new REST(discordRestOptions).setToken(token)`, or a discord.js client's `client.rest`. */
  readonly rest: DiscordBridgeRest
}

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
    // Only within a session. At its start, the connection reads the missed messages.
    deliversOnce: true,
    start: async () => {
      // The gateway reports all other failures, and reconnects.
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
      if ((file.size ?? 0) > maxBytes) throw tooLargeError(what, maxBytes)
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

/**
 * Marks presses of notes' buttons as the program's own. They have this package's ids, so that a press is acknowledged
 * in time.
 */
function ownPress(inbound: Inbound): Inbound {
  if (inbound.type !== 'press' || isAskToken(inbound.token)) return inbound
  return { ...inbound, isForeign: true }
}

/** The URL of a file, which must be at Discord's own hosts. https://discord.com/developers/docs/reference#signed-attachment-cdn-urls */
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

interface CatchUpOptions {
  readonly rest: Pick<DiscordBridgeRest, 'get'>
  readonly chats: () => Promise<readonly KnownChat[]>
  /** Handles a gateway packet. Never rejects. */
  readonly handleEvent: (packet: unknown) => Promise<void>
  readonly onError: (error: DiscordError) => void
  readonly clock: Clock
}

/** The most messages that one call returns. https://docs.discord.com/developers/resources/message#get-channel-messages */
const pageSize = 100
/** The most calls for messages of one chat. */
const mostPages = 5
/** The most attempts of a call that is rate-limited or unreachable. */
const mostTries = 5

/**
 * Passes on messages that were written while no session listened, oldest first. Discord only replays events to a
 * resumed session. https://docs.discord.com/developers/events/gateway#resuming
 */
export function createCatchUp(options: CatchUpOptions): (signal: AbortSignal) => Promise<void> {
  const { rest, chats, handleEvent, onError, clock } = options
  return catchUp

  async function catchUp(signal: AbortSignal): Promise<void> {
    for (const { chat, since } of await chats()) {
      if (signal.aborted) return
      try {
        await readChat(chat.id, { since, signal })
      } catch (error) {
        const failure = toPortError(error, `channels/${chat.id}`)
        const isOut = failure.type === 'gone' || failure.type === 'refused'
        // The bot may have left the chat since.
        if (isOut || signal.aborted) continue
        const what = `What was written in chat ${chat.id} while the bot was away could not be read`
        onError(new DiscordError('updates', `${what}: ${failure.message}`, { cause: failure.cause }))
      }
    }
  }

  async function readChat(
    id: string,
    { since, signal }: { readonly since: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const { type, newest } = channelIn(await get(`/channels/${id}`, signal))
    let after = snowflakeAt(since)
    if (newest === undefined || newest <= after) return
    for (let page = 0; page < mostPages && !signal.aborted; page++) {
      const query = new URLSearchParams({ after: String(after), limit: String(pageSize) })
      const messages = messagesIn(await get(`/channels/${id}/messages`, signal, query))
      // REST lacks the fields that only the gateway adds.
      for (const { message } of messages)
        await handleEvent({ t: 'MESSAGE_CREATE', d: { ...message, channel_type: type } })
      after = messages.at(-1)?.id ?? after
      if (messages.length < pageSize) return
    }
  }

  async function get(route: `/${string}`, signal: AbortSignal, query?: URLSearchParams): Promise<unknown> {
    for (let tries = 0; ; tries++) {
      try {
        const make = async (aborted: AbortSignal): Promise<unknown> =>
          await rest.get(route, { ...(query && { query }), signal: aborted })
        return await callPlatform(make, { what: route, signal, clock, toPortError })
      } catch (error) {
        const isOver = !(error instanceof PortError) || error.type === 'gone' || error.type === 'refused'
        if (isOver || signal.aborted || tries === mostTries - 1) throw error
        await pause(clock, error.retryAfterMs ?? backOffMs(tries), signal)
      }
    }
  }
}
