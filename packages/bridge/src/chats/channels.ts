import { createHash } from 'node:crypto'
import type { Clock } from '@reply/core'
import type { Chat, LedgerStore, MessageRef, Sink, SinkPlace } from '@reply/sink'
import { type BridgeConnection, type BridgeSinkOptions, type Button, PortError } from '@reply/sink/channel'
import { type Lease, type Note, postOfAsk, type SinkFields, withLease } from '@reply/sink/internal'
import { BridgeError, toError } from '../error.ts'
import { type ChatPlace, chatKey } from '../place.ts'
import type { Route, SessionRef } from '../state/decode.ts'
import type { State } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { waitAtMost } from '../timers.ts'
import { ledgersWith } from './ledgers.ts'
import type { Routes } from './routes.ts'

/** The channels of the config, as the rest of the bridge uses them. */
export interface Channels {
  /** Returns the connection of a channel. Throws for a name that the config doesn't have. */
  connectionOf(name: string): BridgeConnection
  /** Creates a sink in a place, like `BridgeConnection.sinkFor`, whose ledger is stored. A bridge that is stopping makes stopped ones. */
  sinkFor(place: ChatPlace & SinkPlace, options: BridgeSinkOptions): Sink
  /** Returns the settings of a channel's sinks in the config. */
  sinkFields(name: string): SinkFields
  /** Whether the config has that channel. */
  has(name: string): boolean
  /**
   * Posts one of the bridge's own messages, and remembers which session a reply to it continues. Default: the session of the
   * place. `next`: the one that the place uses next. Resolves with the posted messages, which may be several for a long text.
   * Never rejects: a failure is reported to `onError`, and the result is empty.
   */
  tryPost(place: ChatPlace, note: ChatMessage, session?: SessionRef | 'next'): Promise<readonly MessageRef[]>
  /**
   * Like `tryPost`, but rejects like `BridgeConnection.post`. Resolves when the whole message is in the chat, and `done` is
   * committed.
   */
  post(
    place: ChatPlace,
    note: ChatMessage,
    session?: SessionRef | 'next',
    done?: readonly Write[],
  ): Promise<readonly MessageRef[]>
  /** Resolves with whether an ask was posted in a place, according to its ledgers: as `postOfAsk` of the sink. */
  postOfAsk(place: ChatPlace, requestID: string): Promise<'made' | 'failed' | undefined>
  /** Replaces one of the bridge's own messages, with its buttons. Rejects like `BridgeConnection.edit`. */
  edit(place: ChatPlace, message: MessageRef, note: ChatMessage): Promise<void>
  /** Whether one of the bridge's own messages has a button with that data. Waits up to 8 s for an unconfirmed post. */
  hasButton(place: ChatPlace, message: MessageRef, data: string): Promise<boolean>
  /** Resolves when no message is being posted or edited: what the next owner must know of it is then stored. */
  idle(): Promise<void>
  /** Shows the typing indicator, under the lease. Does not wait, and ignores errors. */
  showTyping(place: ChatPlace): void
}

/** How long a press waits for the post of its message to be confirmed, in ms. */
const confirmMs = 8000

/** A message to post in a place. */
export type ChatMessage = Omit<Note, 'chat'>

/** Posts and edits the bridge's own messages through the connections, under the lease. */
export function createChannels(options: {
  readonly connections: ReadonlyMap<string, BridgeConnection>
  readonly sinkFields: (name: string) => SinkFields
  readonly state: State
  readonly whenHeld: Lease
  readonly routes: Routes
  /** Returns the store for the ledgers of a channel. */
  readonly ledgersOf: (channel: string) => LedgerStore
  /** Aborts when the chats are handed over. */
  readonly stopping: AbortSignal
  readonly clock: Clock
  readonly onError: (error: Error) => void
}): Channels {
  const { connections, sinkFields, state, whenHeld, routes, ledgersOf, stopping, clock, onError } = options
  const ownButtons = createOwnButtons(state)
  /** By chat: the last post with buttons, until its buttons are stored. */
  const posting = new Map<string, Promise<unknown>>()
  /** The posts and edits that are in progress. */
  const calls = new Set<Promise<unknown>>()
  return {
    connectionOf,
    sinkFor: ({ channel, ...at }, sinkOptions) => {
      const sink = connectionOf(channel).sinkFor(at, { ...sinkOptions, store: ledgersOf(channel) })
      // Sinks from before the stop are stopped by those that use them. A run that begins or is restored during it makes one after it.
      if (stopping.aborted) void sink.stop()
      return sink
    },
    sinkFields,
    has: (name) => connections.has(name),
    tryPost,
    post: async (...message) => await counted(post(...message)),
    postOfAsk: findPostOfAsk,
    edit: async (...message) => await counted(edit(...message)),
    hasButton,
    idle: async () => void (await Promise.allSettled(calls)),
    showTyping,
  }

  /** Returns the connection of a channel. Throws for a name that the config doesn't have. */
  function connectionOf(name: string): BridgeConnection {
    const connection = connections.get(name)
    if (connection) return connection
    throw new BridgeError('channel', `There is no channel "${name}". Channels: ${[...connections.keys()].join(', ')}.`)
  }

  /** See `Channels`. */
  async function findPostOfAsk(place: ChatPlace, requestID: string): Promise<'made' | 'failed' | undefined> {
    const ledgers = await ledgersWith(requestID, place, state)
    const posts = ledgers.map((ledger) => postOfAsk(ledger, requestID))
    return posts.find((post) => post === 'made') ?? posts.find((post) => post === 'failed')
  }

  /** Counts a post or edit as one in progress. Resolves and rejects as it does. */
  async function counted<Result>(call: Promise<Result>): Promise<Result> {
    calls.add(call)
    try {
      return await call
    } finally {
      calls.delete(call)
    }
  }

  /** Posts a message like `post`. If that fails, reports the error to `onError` and resolves with an empty list. */
  async function tryPost(...message: Parameters<Channels['tryPost']>): Promise<readonly MessageRef[]> {
    try {
      return await counted(post(...message))
    } catch (error) {
      onError(toError(error))
      return []
    }
  }

  /**
   * Posts a message, and stores its session and its buttons. If it has buttons, `hasButton` waits for the post, because
   * people can press them before it is confirmed.
   */
  async function post(...message: Parameters<Channels['post']>): Promise<readonly MessageRef[]> {
    const [place, { buttons = [] }] = message
    const posted = postAndRemember(...message)
    if (buttons.length === 0) return await posted
    const key = chatKey(place)
    const allPosted = Promise.allSettled([posting.get(key), posted])
    posting.set(key, allPosted)
    void allPosted.then(() => posting.get(key) === allPosted && posting.delete(key))
    return await posted
  }

  /**
   * Posts under the lease, then stores the session of the messages, the buttons of the last one, and `done`. Retries while the
   * store fails. Stores nothing if the channel posted no message.
   */
  async function postAndRemember(
    ...[place, note, session, done = []]: Parameters<Channels['post']>
  ): Promise<readonly MessageRef[]> {
    const refs = await repeatIfCutOff(note.signal, (signal) =>
      connectionOf(place.channel).post({ ...note, signal, chat: place.chat }),
    )
    const last = refs.at(-1)
    if (!last) return refs
    const remembered = writeSession(place, refs, session ?? (await state.withRetries(() => routes.routeOf(place))))
    const writes = [...(note.buttons ? ownButtons.write(place, last, note.buttons) : []), ...remembered, ...done]
    if (writes.length > 0) await state.withRetries(() => state.commit(writes))
    return refs
  }

  /**
   * Makes a call under the lease, which aborts it if the store fails for too long meanwhile. Makes it once more when the lease is
   * back: without its answer, a person is better told twice than never.
   */
  async function repeatIfCutOff<T>(
    callerSignal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    let permitted: AbortSignal | undefined
    const lease: Lease = async () => {
      permitted = await whenHeld()
      return permitted
    }
    try {
      return await withLease(lease, callerSignal, call)
    } catch (error) {
      if (!permitted?.aborted || callerSignal?.aborted) throw error
      return await withLease(whenHeld, callerSignal, call)
    }
  }

  /**
   * Returns the writes that remember the session of the messages. Returns none for `next` and for a place that has no session
   * yet, and then keeps the messages in memory until it has. Does neither for a place without a route.
   */
  function writeSession(
    place: ChatPlace,
    refs: readonly MessageRef[],
    session: Pick<Route, 'server' | 'sessionID'> | 'next' | undefined,
  ): readonly Write[] {
    if (session !== 'next' && session?.sessionID !== undefined)
      return routes.writeMessages(place, refs, { server: session.server, sessionID: session.sessionID })
    if (session !== undefined) routes.rememberForNextSession(place, refs)
    return []
  }

  /**
   * Edits a message under the lease, and stores its buttons, with retries. Until the edit is confirmed, and if it fails, the
   * old buttons count beside the new ones.
   */
  async function edit(...[place, message, note]: Parameters<Channels['edit']>): Promise<void> {
    await state.commit(await ownButtons.writeBoth(place, message, note.buttons))
    await repeatIfCutOff(note.signal, (signal) =>
      connectionOf(place.channel).edit(message, { ...note, signal, chat: place.chat }),
    )
    const writes = ownButtons.write(place, message, note.buttons)
    await state.withRetries(() => state.commit(writes))
  }

  /**
   * Whether the message has a button with that data, because a press counts only then. If it is not found, waits for an
   * unconfirmed post in the chat, at most `confirmMs`, and looks again.
   */
  async function hasButton(...[place, message, data]: Parameters<Channels['hasButton']>): Promise<boolean> {
    if (await ownButtons.has(place, message, data)) return true
    const unconfirmed = posting.get(chatKey(place))
    if (!unconfirmed) return false
    await waitAtMost(unconfirmed, confirmMs, clock)
    return await ownButtons.has(place, message, data)
  }

  /** Shows that the bot is typing, under the lease. Not awaited, and errors are ignored. */
  function showTyping({ channel, chat }: { readonly channel: string; readonly chat: Chat }): void {
    void withLease(whenHeld, undefined, () => connectionOf(channel).typing(chat)).catch(() => {})
  }
}

/** The buttons of the bridge's own messages. Their data can be guessed, so a press only counts if the message has it. */
interface OwnButtons {
  /** Returns the writes that store which buttons a message has. Without buttons, they remove the stored ones. */
  write(place: ChatPlace, message: MessageRef, buttons: Note['buttons']): readonly Write[]
  /** Like `write`, but keeps the stored buttons: during an edit, the message has the old or the new ones. */
  writeBoth(place: ChatPlace, message: MessageRef, buttons: Note['buttons']): Promise<readonly Write[]>
  /** Whether a message has a button with that data. */
  has(place: ChatPlace, message: MessageRef, data: string): Promise<boolean>
}

/** How long the buttons of a message work, in ms: 30 days, as long as the backlog and unknown prompts are stored. */
const keptMs = 2_592_000_000

/** Stores the buttons of the bridge's own messages as hashes, for `keptMs`. */
function createOwnButtons(state: Pick<State, 'read'>): OwnButtons {
  return {
    write: (place, message, buttons) => writeHashes(place, message, hashesOf(buttons)),
    writeBoth: async (place, message, buttons) => {
      return writeHashes(place, message, [...new Set([...(await readHashes(place, message)), ...hashesOf(buttons)])])
    },
    has: async (place, message, data) => (await readHashes(place, message)).includes(hashOf(data)),
  }

  /** Returns the write that stores the hashes of a message's buttons. Without hashes, it removes the row. */
  function writeHashes(place: ChatPlace, message: MessageRef, hashes: readonly string[]): readonly Write[] {
    const key = buttonsKey(place, message)
    if (hashes.length === 0) return [{ type: 'remove', key }]
    return [{ type: 'put', key, value: hashes.join(' '), expiresInMs: keptMs }]
  }

  /** Returns the stored hashes of a message's buttons. Empty if none are stored. */
  async function readHashes(place: ChatPlace, message: MessageRef): Promise<readonly string[]> {
    return (await state.read(buttonsKey(place, message)))?.split(' ') ?? []
  }
}

/** Returns the key of the buttons of a message. */
function buttonsKey(place: ChatPlace, { id }: MessageRef): string {
  return `buttons/${chatKey(place)}/${id}`
}

/** Returns the hash of the data of each button, of all rows. Empty without buttons. */
function hashesOf(buttons: Note['buttons'] = []): readonly string[] {
  return buttons.flat().map(({ data }) => hashOf(data))
}

/** Returns a hash of a button's data. It never contains a space, which separates stored hashes. */
function hashOf(data: string): string {
  return createHash('sha256').update(data).digest('base64url')
}

/** How many buttons a row has. On the platform with the fewest rows, this leaves room for ten buttons and two more rows. */
const perRow = 4

/** Arranges buttons in rows of `perRow`, in order, because platforms limit the number of rows. Empty without buttons. */
export function inRows(buttons: readonly Button[]): readonly (readonly Button[])[] {
  const rows = Math.ceil(buttons.length / perRow)
  return Array.from({ length: rows }, (_, row) => buttons.slice(row * perRow, (row + 1) * perRow))
}

/** How long to wait before posting again in a chat that refuses messages, unless a person writes there, in ms. */
export const refusedMs = 3_600_000

/** Whether a post failed because the chat accepts no messages: it no longer exists, or the bot was removed. */
export function isRefusal(error: unknown): boolean {
  return error instanceof PortError && (error.type === 'refused' || error.type === 'gone')
}
