import { type LedgerStore, SinkError } from '@reply/sink'
import { ledgerKeyOf, messageRefsOf } from '@reply/sink/channel'
import { isTakenOver } from './error.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import type { ChatPlace } from './place.ts'
import type { Routes } from './routes/routes.ts'
import type { State } from './state.ts'

/** How long the ledger of a reply is kept, in ms: 30 days. */
const keptMs = 2_592_000_000
/** Of how many ledgers it is known here which messages are remembered; those of others are remembered again. */
const mostKnown = 1000

export interface LedgerOptions {
  readonly state: State
  readonly hold: LeaseKeeper['hold']
  readonly late: NonNullable<LedgerStore['late']>
  readonly routes: Routes
  /** The channel's name in the config. */
  readonly channel: string
  /** The server that a session is on; undefined if no run of it is known. */
  readonly serverOf: (sessionID: string) => string | undefined
  /** Called when the ledger of a reply names messages that are in the chat. */
  readonly onShown: (place: ChatPlace, sessionID: string) => void
  /** In ms since the epoch. */
  readonly now: () => number
}

/**
 * The ledgers of a channel, in the bridge's state. With each ledger the messages that it names are remembered, so that a
 * reply to any of them finds its session.
 */
export function ledgersOf({ state, hold, late, routes, channel, serverOf, onShown, now }: LedgerOptions): LedgerStore {
  /** The messages of each ledger that are remembered. */
  const known = new Map<string, ReadonlySet<string>>()
  const keyOf = (key: string): string => `ledger/${channel}/${key}`
  return {
    // What is not known to be shown would be shown twice, so a store that fails is asked again.
    read: async (key) => await state.persist(() => state.read(keyOf(key))),
    write: async (key, text) => await ending(() => write(key, text)),
    hold: async () => await ending(hold),
    late,
  }

  /** Sinks end when another process took over. */
  async function ending<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (cause) {
      if (!isTakenOver(cause)) throw cause
      throw new SinkError('taken-over', 'Another process shows the replies of this state.', { cause })
    }
  }

  async function write(key: string, text: string): Promise<void> {
    const refs = messageRefsOf(text)
    const place = ledgerKeyOf(key)
    const server = place && serverOf(place.sessionID)
    if (place && refs.length > 0) onShown({ channel, chat: place.chat }, place.sessionID)
    const fresh = refs.filter(({ id }) => !known.get(key)?.has(id))
    const remembered =
      place && server !== undefined
        ? routes.remember({ channel, chat: place.chat }, fresh, { server, sessionID: place.sessionID })
        : []
    const put = { type: 'put', key: keyOf(key), value: text, expiresAt: now() + keptMs } as const
    await state.persist(() => state.commit([put, ...remembered]))
    if (server === undefined) return
    known.delete(key)
    known.set(key, new Set(refs.map(({ id }) => id)))
    const [oldest] = known.keys()
    if (known.size > mostKnown && oldest !== undefined) known.delete(oldest)
  }
}
