import type { ChatPlace } from '../place.ts'
import type { State } from '../state/state.ts'

/** Chats that got another id from their platform, as groups of Telegram do that become supergroups. */
export interface ChatMigrations {
  /**
   * The place under the id that its chat had first. What is kept for a chat, and what the config says of it, goes by that
   * id for ever. The place itself if its chat never moved.
   */
  former(place: ChatPlace): ChatPlace
  note(channel: string, move: { readonly from: string; readonly to: string }): Promise<void>
  /** Reads what an earlier process noted. Call it once, before the first message. */
  load(): Promise<void>
}

const prefix = 'moved/'

export function createChatMigrations(state: Pick<State, 'list' | 'commit'>): ChatMigrations {
  /** By the key of the new id. */
  const formerIDs = new Map<string, string>()
  /** The keys of those that are written. */
  const written = new Set<string>()
  const keyOf = (channel: string, id: string): string => [channel, id].map(encodeURIComponent).join('/')
  return { former, note, load }

  function former(place: ChatPlace): ChatPlace {
    const { channel, chat } = place
    const id = formerIDs.get(keyOf(channel, chat.id))
    return id === undefined ? place : { channel, chat: { ...chat, id } }
  }

  async function note(channel: string, { from, to }: { readonly from: string; readonly to: string }): Promise<void> {
    const key = keyOf(channel, to)
    if (from === to || written.has(key)) return
    const first = formerIDs.get(key) ?? formerIDs.get(keyOf(channel, from)) ?? from
    formerIDs.set(key, first)
    await state.commit([{ type: 'put', key: `${prefix}${key}`, value: first }])
    written.add(key)
  }

  async function load(): Promise<void> {
    for (const { key, value } of await state.list(prefix)) {
      formerIDs.set(key.slice(prefix.length), value)
      written.add(key.slice(prefix.length))
    }
  }
}
