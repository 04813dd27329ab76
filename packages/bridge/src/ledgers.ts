import type { LedgerStore } from '@reply/sink'
import { ledgerKeyOf, messageRefsOf } from '@reply/sink/channel'
import type { ChatPlace } from './place.ts'
import type { Routes } from './routes/routes.ts'
import type { State } from './state.ts'

/** How long the ledger of a reply is kept, in ms: 30 days. */
const keptMs = 2_592_000_000
/** Of how many ledgers it is known here which messages are remembered; those of others are remembered again. */
const mostKnown = 1000

export interface LedgerOptions {
  readonly state: State
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
export function ledgersOf({ state, routes, channel, serverOf, onShown, now }: LedgerOptions): LedgerStore {
  /** The messages of each ledger that are remembered. */
  const known = new Map<string, ReadonlySet<string>>()
  const keyOf = (key: string): string => `ledger/${channel}/${key}`
  return { read: async (key) => await state.read(keyOf(key)), write }

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
    await state.commit([{ type: 'put', key: keyOf(key), value: text, expiresAt: now() + keptMs }, ...remembered])
    if (server === undefined) return
    known.delete(key)
    known.set(key, new Set(refs.map(({ id }) => id)))
    const [oldest] = known.keys()
    if (known.size > mostKnown && oldest !== undefined) known.delete(oldest)
  }
}
