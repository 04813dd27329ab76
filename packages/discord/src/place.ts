import type { Chat, ChatKind, MessageRef } from '@reply/sink'

/** The channel type of a direct message with the bot. https://discord.com/developers/docs/resources/channel#channel-object-channel-types */
const directChannel = 1

/** The same for the context of an interaction. 0 is a server, 2 is direct messages between people. https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-context-types */
const directContext = 1

/** Ids begin with the time in ms since 2015. https://discord.com/developers/docs/reference#snowflakes */
const epochMs = 1_420_070_400_000

/** A thread is a channel with an id of its own. */
export function chatOf(channelId: string, kind: ChatKind | undefined): Chat {
  return { id: channelId, ...(kind && { kind }) }
}

/** Undefined if the event does not tell: the channel then counts as shared. */
export function kindOfChannel(type: number | undefined): ChatKind | undefined {
  return kindBy(type, directChannel)
}

/** Undefined if the interaction does not tell. The type of its channel would not do: two people's direct messages have the same. */
export function kindOfContext(context: number | undefined): ChatKind | undefined {
  return kindBy(context, directContext)
}

function kindBy(given: number | undefined, direct: number): ChatKind | undefined {
  if (given === undefined) return undefined
  return given === direct ? 'private' : 'shared'
}

/** A message by its id, which tells when it was posted. */
export function refOf(id: string): MessageRef {
  return /^\d{1,20}$/.test(id) ? { id, postedAt: Number(BigInt(id) >> 22n) + epochMs } : { id }
}
