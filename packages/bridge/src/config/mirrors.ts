import type { Chat } from '@reply/sink'
import { type ChatPlace, chatKey, entryFor, placeKey, placeNamed } from '../place.ts'

/** Places that share a session and show each other's runs. */
export interface Mirrors {
  /** Returns a key for a place. Places that mirror each other have the same key: that of the first in their group. */
  keyOf(place: ChatPlace): string
  /** Like `keyOf`, but the same for all threads of a chat. */
  chatKeyOf(place: ChatPlace): string
  /** Whether several chats share the key of a place, or its chat once had another id. Message ids may then be equal. */
  isShared(place: ChatPlace): boolean
  /** Returns the other places that show the runs of this one. Empty if it is in no group. */
  others(place: ChatPlace): readonly ChatPlace[]
  /** Whether the config names exactly this place, for example a thread and not only its chat. */
  isNamed(place: ChatPlace): boolean
  /** Returns the mirrored chats of a channel. */
  of(channel: string): readonly Chat[]
  /** Whether the channel of the place, or of one that it mirrors, posts only where it listens. */
  needsListener(place: ChatPlace): boolean
}

/**
 * Returns the lookups for chats that show the same conversation. `groups` are the config's `mirrors`. `withFirstID`: see
 * `ChatMigrations`. `postsAtListener` says whether a channel posts only where it listens.
 */
export function createMirrors(
  groups: readonly (readonly string[])[],
  withFirstID: (place: ChatPlace) => ChatPlace = (same) => same,
  postsAtListener: (channel: string) => boolean = () => false,
): Mirrors {
  const table = Object.fromEntries(
    groups.flatMap((names) => {
      const places = names.map(placeNamed)
      return names.map((name, index) => [name, { places, own: places[index] }] as const)
    }),
  )
  const entryOf = (place: ChatPlace) => entryFor(table, place, withFirstID)
  const headOf = (place: ChatPlace): ChatPlace => withFirstID(entryOf(place)?.places[0] ?? place)
  const others = (place: ChatPlace): readonly ChatPlace[] => {
    const { places = [], own } = entryOf(place) ?? {}
    return places.filter((one) => one !== own)
  }
  return {
    keyOf: (place) => placeKey(headOf(place)),
    chatKeyOf: (place) => chatKey(headOf(place)),
    isShared: (place) => (entryOf(place)?.places.length ?? 0) > 1 || placeKey(withFirstID(place)) !== placeKey(place),
    others,
    isNamed: (place) => {
      const own = entryOf(place)?.own
      return own !== undefined && placeKey(withFirstID(own)) === placeKey(withFirstID(place))
    },
    of: (channel) => Object.values(table).flatMap(({ own }) => (own?.channel === channel ? [own.chat] : [])),
    needsListener: (place) => [place, ...others(place)].some(({ channel }) => postsAtListener(channel)),
  }
}
