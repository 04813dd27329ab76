import type { Chat } from '@reply/sink'
import { type ChatPlace, entryFor, placeKey, placeNamed } from '../place.ts'

/** Which places share a session, and show each other's runs. */
export interface Mirrors {
  /** Identifies a place in the store, by what its mirrors have in common. */
  keyOf(place: ChatPlace): string
  /** Whether messages of several chats come together under the key of that place: their ids may be the same. */
  isShared(place: ChatPlace): boolean
  /** The other places that show what runs in this one. */
  others(place: ChatPlace): readonly ChatPlace[]
  /** Whether the config names this very place: a thread, not only its chat. */
  isNamed(place: ChatPlace): boolean
  /** The mirrored chats of a channel. */
  of(channel: string): readonly Chat[]
}

/** `groups` are those of the config, by the names of places. `former`: as in `ChatMigrations`. */
export function createMirrors(
  groups: readonly (readonly string[])[],
  former: (place: ChatPlace) => ChatPlace = (same) => same,
): Mirrors {
  const table = Object.fromEntries(
    groups.flatMap((names) => {
      const places = names.map(placeNamed)
      return names.map((name, index) => [name, { places, own: places[index] }] as const)
    }),
  )
  const entryOf = (place: ChatPlace) => entryFor(table, place, former)
  return {
    keyOf: (place) => placeKey(former(entryOf(place)?.places[0] ?? place)),
    isShared: (place) => (entryOf(place)?.places.length ?? 0) > 1 || placeKey(former(place)) !== placeKey(place),
    others: (place) => {
      const { places = [], own } = entryOf(place) ?? {}
      return places.filter((one) => one !== own)
    },
    isNamed: (place) => {
      const own = entryOf(place)?.own
      return own !== undefined && placeKey(former(own)) === placeKey(former(place))
    },
    of: (channel) => Object.values(table).flatMap(({ own }) => (own?.channel === channel ? [own.chat] : [])),
  }
}
