import { createRecent } from '@reply/sink/internal'
import { type ChatPlace, chatKey } from '../place.ts'
import type { SharedState } from '../state/state.ts'

/** Chats whose id the platform changed. For example, a Telegram group that becomes a supergroup gets another id. */
export interface ChatMigrations {
  /**
   * Returns the place under the first id of its chat. Stored rows and the config use that id forever. Returns the place
   * itself if the id of its chat never changed.
   */
  withFirstID(place: ChatPlace): ChatPlace
  /** Stores that a chat's id changed, and sends the hint `moved`. Ignores a change that is stored already. */
  storeMove(channel: string, move: { readonly from: string; readonly to: string }): Promise<void>
  /** Loads the stored changes. Call it before the first message, and when another process may have stored one. */
  loadMoves(): Promise<void>
  /**
   * Loads a stored change of the id of this chat, the first time that the chat is seen, unless it is private. Call it before a message
   * is assigned to a shard: another process may have been told of the change a moment ago.
   */
  learnMove(place: ChatPlace): Promise<void>
}

const prefix = 'moved/'
/** How many chats are remembered as seen. Another one is looked up again. */
const mostSeen = 10_000

/** Keeps the changes in memory and in the state. Call `loadMoves` before the first lookup. */
export function createChatMigrations(state: Pick<SharedState, 'read' | 'list' | 'commitWithoutLease'>): ChatMigrations {
  /** The first ids of chats, by the keys of their newer ids. */
  const firstIDs = new Map<string, string>()
  /** The keys of the changes that are stored. */
  const storedKeys = new Set<string>()
  /** By the keys of chats that were seen: resolves when their change was looked for. */
  const looks = createRecent<Promise<void>>(mostSeen)
  const keyOf = (channel: string, id: string): string => chatKey({ channel, chat: { id } })
  return { withFirstID, storeMove, loadMoves, learnMove }

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
    await state.commitWithoutLease([{ type: 'put', key: `${prefix}${key}`, value: firstID }], { hint: 'moved' })
    storedKeys.add(key)
  }

  /** Reads the stored changes of ids into memory. */
  async function loadMoves(): Promise<void> {
    for (const { key, value } of await state.list(prefix)) noteStored(key.slice(prefix.length), value)
  }

  /** Looks for the change of a chat once. Messages that wait for the same look go on in their order. */
  async function learnMove(place: ChatPlace): Promise<void> {
    // No platform changes the id of a private chat, see `onMoved`.
    if (place.chat.kind === 'private') return
    const key = chatKey(place)
    if (storedKeys.has(key)) return
    const look = looks.get(key) ?? lookFor(key)
    looks.set(key, look)
    await look
  }

  /** Reads the stored change of a chat. A look that fails is made again. */
  async function lookFor(key: string): Promise<void> {
    try {
      const firstID = await state.read(`${prefix}${key}`)
      if (firstID !== undefined) noteStored(key, firstID)
    } catch (error) {
      looks.delete(key)
      throw error
    }
  }

  /** Keeps a stored change in memory. */
  function noteStored(key: string, firstID: string): void {
    firstIDs.set(key, firstID)
    storedKeys.add(key)
  }
}
