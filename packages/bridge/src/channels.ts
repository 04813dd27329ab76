import type { Clock } from '@reply/core'
import type { Chat, MessageRef } from '@reply/sink'
import type { BridgeConnection } from '@reply/sink/channel'
import { type Hold, type Note, type SinkFields, whileHeld } from '@reply/sink/internal'
import { BridgeError } from './error.ts'
import { createOwnButtons } from './own-buttons.ts'
import { type ChatPlace, chatKey } from './place.ts'
import type { Route, SessionRef } from './routes/decode.ts'
import type { Routes } from './routes/routes.ts'
import { atMost } from './runs/at-most.ts'
import type { State } from './state.ts'
import type { Write } from './store/store.ts'

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
  /** The same, but rejects as `BridgeConnection.post` does, and resolves when all of it is in the chat. */
  post(place: ChatPlace, note: Saying, session?: SessionRef | 'next'): Promise<readonly MessageRef[]>
  /** Replaces a message of the bridge's own, with its buttons. Rejects as `BridgeConnection.edit` does. */
  edit(place: ChatPlace, message: MessageRef, note: Saying): Promise<void>
  /** Whether a message of the bridge's own has the button with that data. Waits a little for a post that is not confirmed. */
  hasButton(place: ChatPlace, message: MessageRef, data: string): Promise<boolean>
  /** Shows that the bot is at work, at once. */
  typing(place: ChatPlace): void
}

/** How long a press waits for the post of its message to be confirmed, in ms. */
const confirmMs = 8000

/** What to say in a place. */
export type Saying = Omit<Note, 'chat'>

export function createChannels(options: {
  readonly connections: ReadonlyMap<string, BridgeConnection>
  readonly sinkFields: (name: string) => SinkFields
  readonly state: State
  readonly hold: Hold
  readonly routes: Routes
  readonly clock: Clock
  readonly onError: (error: Error) => void
}): Channels {
  const { connections, sinkFields, state, hold, routes, clock, onError } = options
  const ownButtons = createOwnButtons(state, () => clock.now())
  /** By chat: the last post with buttons, until its message is noted. */
  const posting = new Map<string, Promise<unknown>>()
  return { of, sinkFields, has: (name) => connections.has(name), say, post, edit, hasButton, typing }

  function of(name: string): BridgeConnection {
    const connection = connections.get(name)
    if (connection) return connection
    throw new BridgeError('channel', `There is no channel "${name}". Channels: ${[...connections.keys()].join(', ')}.`)
  }

  async function say(...given: Parameters<Channels['say']>): Promise<readonly MessageRef[]> {
    try {
      return await post(...given)
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
      return []
    }
  }

  async function post(...given: Parameters<Channels['say']>): Promise<readonly MessageRef[]> {
    const [place, { buttons = [] }] = given
    const said = postOnce(...given)
    if (buttons.length === 0) return await said
    const key = chatKey(place)
    const noted = Promise.allSettled([posting.get(key), said])
    posting.set(key, noted)
    void noted.then(() => posting.get(key) === noted && posting.delete(key))
    return await said
  }

  async function postOnce(...[place, note, session]: Parameters<Channels['say']>): Promise<readonly MessageRef[]> {
    const refs = await whileHeld(hold, note.signal, (signal) =>
      of(place.channel).post({ ...note, signal, chat: place.chat }),
    )
    const last = refs.at(-1)
    if (!last) return refs
    const remembered = remember(place, refs, session ?? (await routes.of(place)))
    const writes = [...(note.buttons ? ownButtons.note(place, last, note.buttons) : []), ...remembered]
    if (writes.length > 0) await state.persist(() => state.commit(writes))
    return refs
  }

  function remember(
    place: ChatPlace,
    refs: readonly MessageRef[],
    session: Pick<Route, 'server' | 'sessionID'> | 'next' | undefined,
  ): readonly Write[] {
    if (session !== 'next' && session?.sessionID !== undefined)
      return routes.remember(place, refs, { server: session.server, sessionID: session.sessionID })
    if (session !== undefined) routes.rememberNext(place, refs)
    return []
  }

  async function edit(...[place, message, note]: Parameters<Channels['edit']>): Promise<void> {
    await state.commit(await ownButtons.add(place, message, note.buttons))
    await whileHeld(hold, note.signal, (signal) =>
      of(place.channel).edit(message, { ...note, signal, chat: place.chat }),
    )
    const noted = ownButtons.note(place, message, note.buttons)
    await state.persist(() => state.commit(noted))
  }

  async function hasButton(...given: Parameters<Channels['hasButton']>): Promise<boolean> {
    if (await ownButtons.has(...given)) return true
    const unconfirmed = posting.get(chatKey(given[0]))
    if (!unconfirmed) return false
    await atMost(unconfirmed, confirmMs, clock)
    return await ownButtons.has(...given)
  }

  function typing({ channel, chat }: { readonly channel: string; readonly chat: Chat }): void {
    void whileHeld(hold, undefined, () => of(channel).typing(chat)).catch(() => {})
  }
}
