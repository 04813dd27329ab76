import type { Chat } from '@reply/sink'

/** A chat of a channel, or a thread in it. */
export interface ChatPlace {
  /** The channel's name in the config. */
  readonly channel: string
  /** The chat on the platform, with its thread. */
  readonly chat: Chat
}

/** Returns a key for a place, safe to use within other keys. Each thread has its own. */
export function placeKey({ channel, chat }: ChatPlace): string {
  return [channel, chat.id, chat.thread ?? ''].map(encodeURIComponent).join('/')
}

/** Returns a key for a chat, the same for all its threads. Message ids are unique in a chat. */
export function chatKey({ channel, chat }: ChatPlace): string {
  return [channel, chat.id].map(encodeURIComponent).join('/')
}

/**
 * Returns the most specific entry of a table for a place: that of its thread, of its chat, of its channel, or of `*`. Undefined
 * if no name matches. If the id of the chat changed, `withFirstID` returns the place under its first id, which the table may
 * still name. The current id wins.
 */
export function entryFor<Value>(
  table: Readonly<Record<string, Value>>,
  place: ChatPlace,
  withFirstID: (place: ChatPlace) => ChatPlace = (same) => same,
): Value | undefined {
  const names = [...configNamesOf(place), ...configNamesOf(withFirstID(place)), place.channel, '*']
  const name = names.find((one) => Object.hasOwn(table, one))
  return name === undefined ? undefined : table[name]
}

/** Returns the names of a place in a config: that of its thread, if it has one, then that of its chat. */
function configNamesOf({ channel, chat }: ChatPlace): readonly string[] {
  const thread = chat.thread === undefined ? [] : [`${channel}:${chat.id}/${chat.thread}`]
  return [...thread, `${channel}:${chat.id}`]
}

/**
 * Parses `<channel>:<chat>` and `<channel>:<chat>/<thread>`. For any other text, the channel and the id of the chat are empty.
 */
export function placeNamed(name: string): ChatPlace {
  const [, channel = '', id = '', thread] = /^([^:]*):([^/]*)(?:\/(.*))?$/.exec(name) ?? []
  return { channel, chat: { id, ...(thread !== undefined && { thread }) } }
}
