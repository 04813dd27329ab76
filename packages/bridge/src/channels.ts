import type { Chat, MessageRef } from '@reply/sink'
import type { BridgeConnection, Note, SinkFields } from '@reply/sink/channel'
import { BridgeError } from './error.ts'
import type { ChatPlace } from './place.ts'
import type { Route, SessionRef } from './routes/decode.ts'
import type { Routes } from './routes/routes.ts'
import type { State } from './state.ts'

/** The channels of the config, as the rest of the bridge uses them. */
export interface Channels {
  /** The connection of a channel. Throws for a name that the config doesn't have. */
  of(name: string): BridgeConnection
  /** What the config says of a channel's sinks. */
  sinkFields(name: string): SinkFields
  /** Whether the config has that channel. */
  has(name: string): boolean
  /**
   * Posts a message of the bridge's own, and remembers which session a reply to it continues. Default: that of the place;
   * `next`: the one that the place uses next. Never rejects: what could not be said is reported.
   */
  say(place: ChatPlace, note: Saying, session?: SessionRef | 'next'): Promise<readonly MessageRef[]>
  /** Shows that the bot is at work, at once. */
  typing(place: ChatPlace): void
}

/** What to say in a place. */
export type Saying = Omit<Note, 'chat'>

export function createChannels(options: {
  readonly connections: ReadonlyMap<string, BridgeConnection>
  readonly sinkFields: (name: string) => SinkFields
  readonly state: State
  readonly routes: Routes
  readonly onError: (error: Error) => void
}): Channels {
  const { connections, sinkFields, state, routes, onError } = options
  return { of, sinkFields, has: (name) => connections.has(name), say, typing }

  function of(name: string): BridgeConnection {
    const connection = connections.get(name)
    if (connection) return connection
    throw new BridgeError('channel', `There is no channel "${name}". Channels: ${[...connections.keys()].join(', ')}.`)
  }

  async function say(...[place, note, session]: Parameters<Channels['say']>): Promise<readonly MessageRef[]> {
    try {
      const refs = await of(place.channel).post({ ...note, chat: place.chat })
      if (refs.length > 0) await remember(place, refs, session ?? (await routes.of(place)))
      return refs
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
      return []
    }
  }

  async function remember(
    place: ChatPlace,
    refs: readonly MessageRef[],
    session: Pick<Route, 'server' | 'sessionID'> | 'next' | undefined,
  ): Promise<void> {
    if (session === undefined) return
    if (session === 'next' || session.sessionID === undefined) return routes.rememberNext(place, refs)
    const { server, sessionID } = session
    await state.commit(routes.remember(place, refs, { server, sessionID }))
  }

  function typing({ channel, chat }: { readonly channel: string; readonly chat: Chat }): void {
    void of(channel).typing(chat)
  }
}
