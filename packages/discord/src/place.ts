import type { Chat, MessageRef } from '@reply/sink'
import type { ChatKind } from '@reply/sink/channel'

/**
 * The channel type of a direct message with the bot.
 * https://discord.com/developers/docs/resources/channel#channel-object-channel-types
 */
const directChannel = 1

/** The channel types of threads: in an announcement channel, public ones, also posts of a forum, and private ones. */
const threads: ReadonlySet<number> = new Set([10, 11, 12])

/**
 * The interaction context of a direct message with the bot. 0 is a server, 2 a direct message between people.
 * https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-context-types
 */
const directContext = 1

/** Ids contain the ms since the start of 2015, this time. https://discord.com/developers/docs/reference#snowflakes */
const epochMs = 1_420_070_400_000

/** The `Chat` of a channel. A thread is a channel with its own id. */
export function chatOf(channelId: string, kind: ChatKind | undefined): Chat {
  return { id: channelId, ...(kind && { kind }) }
}

/** The `Chat` of a channel of that type. */
export function chatIn(channelId: string, type: number | undefined): Chat {
  const chat = chatOf(channelId, kindOfChannel(type))
  return type !== undefined && threads.has(type) ? { ...chat, isThread: true } : chat
}

/** Undefined if the event lacks the type: the channel then counts as shared. */
function kindOfChannel(type: number | undefined): ChatKind | undefined {
  return kindBy(type, directChannel)
}

/**
 * Returns undefined if the interaction lacks the context. The channel type isn't enough: direct messages between people
 * have the same.
 */
export function kindOfContext(context: number | undefined): ChatKind | undefined {
  return kindBy(context, directContext)
}

function kindBy(given: number | undefined, direct: number): ChatKind | undefined {
  if (given === undefined) return undefined
  return given === direct ? 'private' : 'shared'
}

/** A message's ref. `postedAt` comes from the id. */
export function refOf(id: string): MessageRef {
  return /^\d{1,20}$/.test(id) ? { id, postedAt: Number(BigInt(id) >> 22n) + epochMs } : { id }
}

/** The id that a message posted at that time, in ms since the epoch, could at least have. */
export function snowflakeAt(at: number): bigint {
  return BigInt(Math.max(0, Math.floor(at) - epochMs)) << 22n
}
