import { pause, within } from '@reply/core/internal'
import { type ChannelHost, callPlatform, type Limits, PortError, pacerOf } from '@reply/sink/channel'
import { backOffMs, waitForTurn, withResolvers } from '@reply/sink/internal'
import { type DiscordBridgeRest, snowflakeAt } from './api.ts'
import { DiscordError, toPortError } from './error.ts'
import { channelIn, messagesIn, type NewMessage } from './inbound.ts'
import { discordLimits } from './limits.ts'

/** The most messages that one call returns. https://docs.discord.com/developers/resources/message#get-channel-messages */
const pageSize = 100
/** The most calls for messages of one chat. */
const mostPages = 5
/** The most attempts of a call that fails. Those at a rate limit don't count. */
const mostTries = 5
/** The longest that a message waits for the missed ones of its chat, in ms. It may be an answer to a request. */
const mostWaitMs = 2000
/** The calls that read count as those of one chat, and leave more than half of the bot's limit to posts. */
const readLimits: Limits = { ...discordLimits, perChat: { calls: 20, perMs: 1000 } }

/** The messages that were written while no session listened. */
export interface CatchUp {
  /** Resolves when those of all chats were passed on, also those of earlier sessions. Never rejects. */
  readonly ended: Promise<void>
  /**
   * Call it with each message of this session, before you pass that on. Resolves when the missed ones of its chat were passed on, at
   * the latest after `mostWaitMs`. They are read next, up to this message. Never rejects.
   */
  readBefore(message: NewMessage): Promise<void>
}

/** A chat whose missed messages were not passed on yet. */
interface UnreadChat {
  readonly id: string
  /** Since when its messages are missed, in ms since the epoch. */
  readonly since: number
  /** The first message that arrived by itself. Those after it do, too. */
  first: bigint | undefined
  readonly signal: AbortSignal
  readonly read: ReturnType<typeof withResolvers<void>>
}

/**
 * Returns a function that passes on the messages written while no session listened, oldest first, as packets for
 * `handleEvent`, and one chat after the other. Discord only replays events to a resumed session.
 * https://docs.discord.com/developers/events/gateway#resuming
 *
 * Reports chats that can't be read, unless they are gone or refuse the bot, and goes on with the next one. Stops when the signal
 * aborts. Asks for the chats at once, and begins after those of earlier sessions.
 */
export function createCatchUp(
  rest: Pick<DiscordBridgeRest, 'get'>,
  { chats = async () => [], onError, clock }: Pick<ChannelHost, 'chats' | 'onError' | 'clock'>,
  handleEvent: (packet: unknown) => Promise<void>,
): (signal: AbortSignal) => CatchUp {
  const pace = pacerOf(rest, clock).chat({ id: 'missed messages' }, readLimits)
  /** In the order in which they are read. */
  let unread: readonly UnreadChat[] = []
  let isReading = false
  let allEnded: Promise<unknown> = Promise.resolve()
  return catchUp

  /** See `createCatchUp`. */
  function catchUp(signal: AbortSignal): CatchUp {
    /** By channel: the first message that arrived before the host told its chats. */
    const early = new Map<string, bigint>()
    let isKnown = false
    // At once: a message of this session that the host knows would count as the newest one that it received.
    const known = knownChats().then((all) => {
      isKnown = true
      const added = all.map((one) => ({ ...one, first: early.get(one.id), signal, read: withResolvers<void>() }))
      unread = [...unread, ...added]
      void readAll()
      return added
    })
    const ended = Promise.all([allEnded, known.then((added) => Promise.all(added.map(({ read }) => read.promise)))])
    allEnded = ended
    return { ended: ended.then(() => {}), readBefore }

    async function readBefore({ channelID, id }: NewMessage): Promise<void> {
      if (!isKnown && !early.has(channelID)) early.set(channelID, id)
      for (const one of unread) if (one.id === channelID) one.first ??= id
      if (isKnown && unreadIn(channelID).length === 0) return
      await within(clock, mostWaitMs, passedOn(channelID))
    }

    /** Resolves when the missed messages of a chat were passed on. */
    async function passedOn(channelID: string): Promise<void> {
      await known
      await Promise.all(unreadIn(channelID).map(({ read }) => read.promise))
    }
  }

  function unreadIn(channelID: string): readonly UnreadChat[] {
    return unread.filter(({ id }) => id === channelID)
  }

  /** Returns the chat to read next: one in which people write, if there is one. */
  function nextUnread(): UnreadChat | undefined {
    return unread.find(({ first }) => first !== undefined) ?? unread[0]
  }

  /** Reads one chat after the other, until none is left. */
  async function readAll(): Promise<void> {
    if (isReading) return
    isReading = true
    for (;;) {
      const chat = nextUnread()
      if (!chat) break
      await tryToReplay(chat)
      unread = unread.filter((one) => one !== chat)
      chat.read.resolve()
    }
    isReading = false
  }

  /** Resolves with the chats and since when their messages are missed. Reports a failure, and is empty then. */
  async function knownChats(): Promise<readonly Pick<UnreadChat, 'id' | 'since'>[]> {
    try {
      const all = new Map((await chats()).map(({ chat, since }) => [chat.id, since]))
      return [...all].map(([id, since]) => ({ id, since }))
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
      return []
    }
  }

  /** Passes on the messages of a chat. Reports a chat that can't be read. Does nothing after the signal aborts. */
  async function tryToReplay(chat: UnreadChat): Promise<void> {
    const { id, signal } = chat
    if (signal.aborted) return
    try {
      await replayChat(chat)
    } catch (error) {
      const failure = toPortError(error, `channels/${id}`)
      const hasLeft = failure.type === 'gone' || failure.type === 'refused'
      // The bot may have left the chat since.
      if (hasLeft || signal.aborted) return
      const what = `Messages from while the bot was away could not be read in chat ${id}`
      onError(new DiscordError('updates', `${what}: ${failure.message}`, { cause: failure.cause }))
    }
  }

  /**
   * Passes on the messages of a chat, oldest first, up to the first one that arrived by itself: REST lacks the fields that only the
   * gateway adds, for example the nickname. At most 500. Rejects with a `PortError`.
   */
  async function replayChat(chat: UnreadChat): Promise<void> {
    const { id, since, signal } = chat
    const { type, newest } = channelIn(await getWithRetries(`/channels/${id}`, signal))
    let after = snowflakeAt(since)
    if (newest === undefined || newest <= after) return
    for (let page = 0; page < mostPages; page++) {
      const query = new URLSearchParams({ after: String(after), limit: String(pageSize) })
      const messages = messagesIn(await getWithRetries(`/channels/${id}/messages`, signal, query))
      for (const one of messages) {
        if (signal.aborted || (chat.first !== undefined && one.id >= chat.first)) return
        await handleEvent({ t: 'MESSAGE_CREATE', d: { ...one.message, channel_type: type } })
      }
      after = messages.at(-1)?.id ?? after
      if (messages.length < pageSize) return
    }
  }

  /**
   * Makes a GET request within the bot's limits, and resolves with its response. Retries while it is rate-limited, and while it is
   * unreachable, at most `mostTries` times. Rejects with a `PortError`, or with the signal's reason.
   */
  async function getWithRetries(route: `/${string}`, signal: AbortSignal, query?: URLSearchParams): Promise<unknown> {
    const make = async (aborted: AbortSignal): Promise<unknown> =>
      await rest.get(route, { ...(query && { query }), signal: aborted })
    const call = async (): Promise<unknown> => await callPlatform(make, { what: route, signal, clock, toPortError })
    for (let failures = 0; ; ) {
      try {
        return await waitForTurn(pace, clock, call, { signal, kind: 'look-up' })
      } catch (error) {
        const isFinal = !(error instanceof PortError) || error.type === 'gone' || error.type === 'refused'
        if (isFinal || signal.aborted) throw error
        if (error.type !== 'rate-limited') failures += 1
        if (failures === mostTries) throw error
        await pause(clock, error.retryAfterMs ?? backOffMs(failures), signal)
      }
    }
  }
}
