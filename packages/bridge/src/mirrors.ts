import type { Chat } from '@reply/sink'
import { type ChatPlace, entryFor, placeKey } from './place.ts'

/** Which places share a session, and show each other's runs. */
export interface Mirrors {
  /** Identifies a place in the store, by what its mirrors have in common. */
  keyOf(place: ChatPlace): string
  /** The other places that show what runs in this one. */
  others(place: ChatPlace): readonly ChatPlace[]
  /** Whether the config names this very place: a thread, not only its chat. */
  isNamed(place: ChatPlace): boolean
  /** The mirrored chats of a channel. */
  of(channel: string): readonly Chat[]
}

/** `groups` are those of the config, by the names of places. */
export function createMirrors(groups: readonly (readonly string[])[]): Mirrors {
  const table = Object.fromEntries(
    groups.flatMap((names) => {
      const places = names.map(placeNamed)
      return names.map((name, index) => [name, { places, own: places[index] }] as const)
    }),
  )
  return {
    keyOf: (place) => placeKey(entryFor(table, place)?.places[0] ?? place),
    others: (place) => {
      const { places = [], own } = entryFor(table, place) ?? {}
      return places.filter((one) => one !== own)
    },
    isNamed: (place) => {
      const own = entryFor(table, place)?.own
      return own !== undefined && placeKey(own) === placeKey(place)
    },
    of: (channel) => Object.values(table).flatMap(({ own }) => (own?.channel === channel ? [own.chat] : [])),
  }
}

/** Reads `<channel>:<chat>` and `<channel>:<chat>/<thread>`. */
export function placeNamed(name: string): ChatPlace {
  const [, channel = '', id = '', thread] = /^([^:]*):([^/]*)(?:\/(.*))?$/.exec(name) ?? []
  return { channel, chat: { id, ...(thread !== undefined && { thread }) } }
}
