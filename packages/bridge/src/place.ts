import type { Chat } from '@reply/sink'

/** Where people and agent meet: a chat of a channel, or a thread in it. */
export interface ChatPlace {
  /** The channel's name in the config. */
  readonly channel: string
  /** The chat on the platform. */
  readonly chat: Chat
}

/** Identifies a place in the store. Threads are places of their own. */
export function placeKey({ channel, chat }: ChatPlace): string {
  return [channel, chat.id, chat.thread ?? ''].map(encodeURIComponent).join('/')
}

/** Identifies the chat, whatever the thread: message ids are unique in it. */
export function chatKey({ channel, chat }: ChatPlace): string {
  return [channel, chat.id].map(encodeURIComponent).join('/')
}

/**
 * What a table says of a place: the entry with the most exact name. `former` names a place whose chat got another id as it
 * was called before.
 */
export function entryFor<Value>(
  table: Readonly<Record<string, Value>>,
  place: ChatPlace,
  former: (place: ChatPlace) => ChatPlace = (same) => same,
): Value | undefined {
  const names = [...namesOf(place), ...namesOf(former(place)), place.channel, '*']
  const name = names.find((one) => Object.hasOwn(table, one))
  return name === undefined ? undefined : table[name]
}

/** The names of the place itself that a config may know it by, the most exact first. */
function namesOf({ channel, chat }: ChatPlace): readonly string[] {
  const thread = chat.thread === undefined ? [] : [`${channel}:${chat.id}/${chat.thread}`]
  return [...thread, `${channel}:${chat.id}`]
}

/** Reads `<channel>:<chat>` and `<channel>:<chat>/<thread>`. */
export function placeNamed(name: string): ChatPlace {
  const [, channel = '', id = '', thread] = /^([^:]*):([^/]*)(?:\/(.*))?$/.exec(name) ?? []
  return { channel, chat: { id, ...(thread !== undefined && { thread }) } }
}
