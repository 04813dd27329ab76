import type { ChatPlace } from '../place.ts'
import type { SharedState } from '../state/state.ts'

/** Chats whose id the platform changed. For example, a Telegram group that becomes a supergroup gets another id. */
export interface ChatMigrations {
  /**
   * Returns the place under the first id of its chat. Stored rows and the config use that id forever. Returns the place
   * itself if the id of its chat never changed.
   */
  withFirstID(place: ChatPlace): ChatPlace
  /** Stores that a chat's id changed. Ignores a change that is stored already. */
  storeMove(channel: string, move: { readonly from: string; readonly to: string }): Promise<void>
  /** Loads the stored changes. Call it once, before the first message. */
  loadMoves(): Promise<void>
}

const prefix = 'moved/'

/** Keeps the changes in memory and in the state. Call `loadMoves` before the first lookup. */
export function createChatMigrations(state: Pick<SharedState, 'list' | 'commitWithoutLease'>): ChatMigrations {
  /** The first ids of chats, by the keys of their newer ids. */
  const firstIDs = new Map<string, string>()
  /** The keys of the changes that are stored. */
  const storedKeys = new Set<string>()
  const keyOf = (channel: string, id: string): string => [channel, id].map(encodeURIComponent).join('/')
  return { withFirstID, storeMove, loadMoves }

  /** Returns the place under the first id of its chat, with its thread. Returns the same place if the id never changed. */
  function withFirstID(place: ChatPlace): ChatPlace {
    const { channel, chat } = place
    const id = firstIDs.get(keyOf(channel, chat.id))
    return id === undefined ? place : { channel, chat: { ...chat, id } }
  }

  /**
   * Stores that a chat got another id. A chat that moved several times keeps its first id. Does nothing if the ids are the
   * same, or the change is stored. Rejects if the store fails, and a later call then stores it. It counts at once in any case.
   */
  async function storeMove(
    channel: string,
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<void> {
    const key = keyOf(channel, to)
    if (from === to || storedKeys.has(key)) return
    const firstID = firstIDs.get(key) ?? firstIDs.get(keyOf(channel, from)) ?? from
    firstIDs.set(key, firstID)
    await state.commitWithoutLease([{ type: 'put', key: `${prefix}${key}`, value: firstID }])
    storedKeys.add(key)
  }

  /** Reads the stored changes of ids into memory. */
  async function loadMoves(): Promise<void> {
    for (const { key, value } of await state.list(prefix)) {
      firstIDs.set(key.slice(prefix.length), value)
      storedKeys.add(key.slice(prefix.length))
    }
  }
}
