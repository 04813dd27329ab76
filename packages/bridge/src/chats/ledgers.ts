import { type LedgerStore, SinkError } from '@reply/sink'
import { createRecent, ledgerKeyOf, messageRefsOf, withLeftStatus } from '@reply/sink/internal'
import { isTakenOver } from '../error.ts'
import type { ChatPlace } from '../place.ts'
import type { BridgeLease } from '../state/bridge-lease.ts'
import type { State } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import type { Routes } from './routes.ts'

/** How long the ledger of a reply is kept, in ms: 30 days. */
const keptMs = 2_592_000_000
/** Of how many keys without a prompt it is known that this process uses them, and how many sessions were looked at. */
const mostOwn = 10_000
/** Of how many ledgers it is known here which messages are remembered; those of others are remembered again. */
const mostKnown = 1000

export interface LedgerOptions {
  readonly state: State
  readonly hold: BridgeLease['hold']
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
  /** The keys without a prompt that this process uses. */
  const own = createRecent<true>(mostOwn)
  /** The sessions whose ledgers of earlier processes were looked at. */
  const looked = createRecent<true>(mostOwn)
  /** The keys of the ledgers that an earlier process left, by the key of the reply that goes on with them. */
  const taken = new Map<string, string>()
  const prefix = `ledger/${channel}/`
  const keyOf = (key: string): string => prefix + key
  return {
    // What is not known to be shown would be shown twice, so a store that fails is asked again.
    read: async (key) => await state.persist(() => read(key)),
    write: async (key, text, former) => await ending(() => write(key, text, former)),
    lease: async () => await ending(hold),
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

  async function read(key: string): Promise<string | undefined> {
    if (!hasPrompt(key)) own.set(key, true)
    // Another reply goes on with it.
    if ([...taken.values()].includes(key)) return undefined
    return (await state.read(keyOf(key))) ?? (await left(key))
  }

  /**
   * A process that ends before a reply's prompt is known leaves its status under a key that is read no more: the next
   * reply of the session takes it away.
   */
  async function left(key: string): Promise<string | undefined> {
    const session = key.slice(0, key.lastIndexOf('/') + 1)
    if (!ledgerKeyOf(key) || !hasPrompt(key) || looked.has(session)) return undefined
    const stored = await state.list(keyOf(session))
    looked.set(session, true)
    for (const row of stored.toReversed()) {
      const other = row.key.slice(prefix.length)
      // This process may show that reply itself.
      if (hasPrompt(other) || own.has(other)) continue
      const text = withLeftStatus(row.value)
      if (text === undefined) continue
      taken.set(key, other)
      return text
    }
    return undefined
  }

  /** The ledgers of the same reply under other keys, which go with the write that replaces them. */
  function replacedBy(key: string, former: string | undefined): readonly Write[] {
    const other = taken.get(key)
    const old = [
      ...(former === undefined || hasPrompt(former) ? [] : [former]),
      ...(other === undefined || own.has(other) ? [] : [other]),
    ]
    return old.map((one) => ({ type: 'remove', key: keyOf(one) }))
  }

  async function write(key: string, text: string, former: string | undefined): Promise<void> {
    if (!hasPrompt(key)) own.set(key, true)
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
    await state.persist(() => state.commit([put, ...replacedBy(key, former), ...remembered]))
    taken.delete(key)
    if (server === undefined) return
    known.delete(key)
    known.set(key, new Set(refs.map(({ id }) => id)))
    const [oldest] = known.keys()
    if (known.size > mostKnown && oldest !== undefined) known.delete(oldest)
  }
}

/** Whether the key names what its reply answers: until that is known, it names the time when the reply began. */
function hasPrompt(key: string): boolean {
  return !/\/\d+(\.\d+)?$/.test(key)
}
