import type { LedgerStore } from '@reply/sink'
import { messageRefsOf } from '@reply/sink/channel'
import type { ChatPlace } from './place.ts'
import type { Routes } from './routes/routes.ts'
import type { State } from './state.ts'

/** How long the ledger of a reply is kept, in ms: 30 days. */
const keptMs = 2_592_000_000

export interface LedgerOptions {
  readonly state: State
  readonly routes: Routes
  /** The channel's name in the config. */
  readonly channel: string
  /** The server that a session is on; undefined if no run of it is known. */
  readonly serverOf: (sessionID: string) => string | undefined
  /** In ms since the epoch. */
  readonly now: () => number
}

/**
 * The ledgers of a channel, in the bridge's state. With each ledger the messages that it names are remembered, so that a
 * reply to any of them finds its session.
 */
export function ledgersOf({ state, routes, channel, serverOf, now }: LedgerOptions): LedgerStore {
  /** How many messages of each ledger are remembered; a ledger only grows. */
  const counts = new Map<string, number>()
  const keyOf = (key: string): string => `ledger/${channel}/${key}`
  return { read: async (key) => await state.read(keyOf(key)), write }

  async function write(key: string, text: string): Promise<void> {
    const { chat, sessionID } = partsOf(key)
    const server = serverOf(sessionID)
    const refs = messageRefsOf(text)
    const fresh = server === undefined ? [] : refs.slice(counts.get(key) ?? 0)
    const remembered = server === undefined ? [] : routes.remember({ channel, chat }, fresh, { server, sessionID })
    await state.commit([{ type: 'put', key: keyOf(key), value: text, expiresAt: now() + keptMs }, ...remembered])
    counts.delete(key)
    counts.set(key, refs.length)
    const [oldest] = counts.keys()
    if (counts.size > 1000 && oldest !== undefined) counts.delete(oldest)
  }
}

/** A sink's key: `chat[/thread]/sessionID/promptID`. */
function partsOf(key: string): { readonly chat: ChatPlace['chat']; readonly sessionID: string } {
  const parts = key.split('/').map(decodeURIComponent)
  return { chat: { id: parts[0] ?? '' }, sessionID: parts.at(-2) ?? '' }
}
