import type { Clock } from '@reply/core'
import { callPlatform, type KnownChat, PortError } from '@reply/sink/channel'
import { backOffMs, pause } from '@reply/sink/internal'
import type { DiscordBridgeRest } from '../api.ts'
import { channelIn, messagesIn } from '../decode.ts'
import { DiscordError } from '../error.ts'
import { toPortError } from '../failure.ts'
import { snowflakeAt } from '../place.ts'

export interface CatchUpOptions {
  readonly rest: Pick<DiscordBridgeRest, 'get'>
  readonly chats: () => Promise<readonly KnownChat[]>
  /** Takes a gateway packet. Never rejects. */
  readonly handleEvent: (packet: unknown) => Promise<void>
  readonly onError: (error: DiscordError) => void
  readonly clock: Clock
}

/** The most messages that one call returns. https://docs.discord.com/developers/resources/message#get-channel-messages */
const pageSize = 100
/** The most calls for messages of one chat. */
const mostPages = 5
/** How often a call is made while Discord limits it or can't be reached. */
const mostTries = 5

/**
 * Passes on what people wrote in the chats while no session listened, oldest first. Discord replays events only to a
 * session that it lets resume. https://docs.discord.com/developers/events/gateway#resuming
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
      // REST leaves out what only the gateway adds.
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
