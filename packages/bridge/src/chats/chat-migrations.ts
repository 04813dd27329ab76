import type { ChatPlace } from '../place.ts'
import type { State } from '../state/state.ts'

/** Chats whose id the platform changed. For example, a Telegram group that becomes a supergroup gets another id. */
export interface ChatMigrations {
  /**
   * Returns the place under the first id of its chat. Stored rows and the config use that id forever. Returns the place
   * itself if the id of its chat never changed.
   */
  withFirstID(place: ChatPlace): ChatPlace
  /** Stores a change. */
  storeMove(channel: string, move: { readonly from: string; readonly to: string }): Promise<void>
  /** Loads the stored changes. Call it once, before the first message. */
  loadMoves(): Promise<void>
}

const prefix = 'moved/'

export function createChatMigrations(state: Pick<State, 'list' | 'commit'>): ChatMigrations {
  /** The first ids, by the keys of the newer ones. */
  const formerIDs = new Map<string, string>()
  /** The keys of the changes that are stored. */
  const written = new Set<string>()
  const keyOf = (channel: string, id: string): string => [channel, id].map(encodeURIComponent).join('/')
  return { withFirstID, storeMove, loadMoves }

  function withFirstID(place: ChatPlace): ChatPlace {
    const { channel, chat } = place
    const id = formerIDs.get(keyOf(channel, chat.id))
    return id === undefined ? place : { channel, chat: { ...chat, id } }
  }

  async function storeMove(
    channel: string,
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<void> {
    const key = keyOf(channel, to)
    if (from === to || written.has(key)) return
    const first = formerIDs.get(key) ?? formerIDs.get(keyOf(channel, from)) ?? from
    formerIDs.set(key, first)
    await state.commit([{ type: 'put', key: `${prefix}${key}`, value: first }])
    written.add(key)
  }

  async function loadMoves(): Promise<void> {
    for (const { key, value } of await state.list(prefix)) {
      formerIDs.set(key.slice(prefix.length), value)
      written.add(key.slice(prefix.length))
    }
  }
}
