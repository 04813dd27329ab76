import type { Chat, MessageRef } from '@reply/sink'
import type { BridgeConnection, Note } from '@reply/sink/channel'
import { BridgeError } from './error.ts'
import type { ChatPlace } from './place.ts'
import type { UsedSession } from './routes/decode.ts'
import type { Routes } from './routes/routes.ts'
import type { State } from './state.ts'

/** The channels of the config, as the rest of the bridge uses them. */
export interface Channels {
  /** The connection of a channel. Throws for a name that the config doesn't have. */
  of(name: string): BridgeConnection
  /**
   * Posts a message of the bridge's own. Messages that belong to a session are remembered. Never rejects: what could not
   * be said is reported.
   */
  say(place: ChatPlace, note: Saying, session?: Omit<UsedSession, 'usedAt'>): Promise<readonly MessageRef[]>
  /** Shows that the bot is at work, at once. */
  typing(place: ChatPlace): void
}

/** What to say in a place. */
export type Saying = Omit<Note, 'chat'>

export function createChannels(options: {
  readonly connections: ReadonlyMap<string, BridgeConnection>
  readonly state: State
  readonly routes: Routes
  readonly onError: (error: Error) => void
}): Channels {
  const { connections, state, routes, onError } = options
  return { of, say, typing }

  function of(name: string): BridgeConnection {
    const connection = connections.get(name)
    if (connection) return connection
    throw new BridgeError('channel', `There is no channel "${name}". Channels: ${[...connections.keys()].join(', ')}.`)
  }

  async function say(...[place, note, session]: Parameters<Channels['say']>): Promise<readonly MessageRef[]> {
    try {
      const refs = await of(place.channel).post({ ...note, chat: place.chat })
      if (session && refs.length > 0) await state.commit(routes.remember(place, refs, session))
      return refs
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
      return []
    }
  }

  function typing({ channel, chat }: { readonly channel: string; readonly chat: Chat }): void {
    void of(channel).typing(chat)
  }
}
