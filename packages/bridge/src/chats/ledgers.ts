import { type LedgerStore, SinkError } from '@reply/sink'
import { createRecent, ledgerKeyOf, messageRefsOf, withLeftStatus } from '@reply/sink/internal'
import { isTakenOver } from '../error.ts'
import type { HeldLease } from '../members/membership.ts'
import type { ChatPlace } from '../place.ts'
import type { State } from '../state/state.ts'
import { type StoredValue, StoreError, type Write } from '../store/store.ts'
import type { Routes } from './routes.ts'

/** How long the ledger of a reply is kept, in ms: 30 days. */
const keptMs = 2_592_000_000
/** How long the calls in a ledger may count, in ms: longer than the window of each chat's limits. */
const countedMs = 120_000
/** How many entries `ownKeys` and `checkedSessions` have at most. */
const mostOwn = 10_000
/** How many keys `checkedSessions` has for a session at most. A ledger with another one is always read. */
const mostOfSession = 100
/** For how many ledgers this caches which messages are remembered. Those of others are remembered again. */
const mostKnown = 1000

/**
 * Stores the ledgers of a channel in the state of a shard. Also remembers the session of each message that a ledger names, so
 * that a reply to the message continues that session.
 */
export function ledgersOf({
  state,
  whenHeld,
  late,
  routes,
  channel,
  serverOf,
  onShown,
}: {
  readonly state: State
  readonly whenHeld: HeldLease['whenHeld']
  readonly late: NonNullable<LedgerStore['late']>
  readonly routes: Routes
  /** The channel's name in the config. */
  readonly channel: string
  /** Returns the server of a session. Undefined if none of its runs is known. */
  readonly serverOf: (sessionID: string) => string | undefined
  /** Called when the ledger of a reply names messages that are in the chat. */
  readonly onShown: (place: ChatPlace, sessionID: string) => void
}): LedgerStore {
  /** By ledger: the messages whose session is remembered. */
  const rememberedIDs = createRecent<ReadonlySet<string>>(mostKnown)
  /** Keys without the id of a prompt that this process uses. */
  const ownKeys = createRecent<true>(mostOwn)
  /** Keys of ledgers that this process has written. They have no calls but those that it knows. */
  const writtenKeys = createRecent<true>(mostOwn)
  /** By session that was searched for ledgers of earlier processes: the keys without the id of a prompt that may have one. */
  const checkedSessions = createRecent<Set<string>>(mostOwn)
  /** By the key of a reply: the key of the ledger of an earlier process that the reply continues. */
  const continuedKeys = new Map<string, string>()
  const prefix = `ledger/${channel}/`
  const keyOf = (key: string): string => prefix + key
  return {
    // Retried while the store fails: without the ledger, the reply would be shown twice.
    read: async (key, onOther) =>
      await withSinkError(async () => await state.withRetries(() => readLedger(key, onOther))),
    write: async (key, text, formerKey) => await withSinkError(() => writeLedger(key, text, formerKey)),
    lease: async () => await withSinkError(whenHeld),
    late,
  }

  /**
   * Resolves as the call does. Rejects with a `SinkError`, which ends the sink, if another process took over, or if the store fails
   * while this one stops: what is posted without a ledger would be posted again by the next process, and counted by none.
   */
  async function withSinkError<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (cause) {
      if (!isTakenOver(cause) && !(cause instanceof StoreError)) throw cause
      throw new SinkError('taken-over', 'Another process shows the replies of this state.', { cause })
    }
  }

  /**
   * Returns the ledger of a reply, or with the first one of a session that of a status message that an earlier process left there, see
   * `leftStatusLedger`. Undefined if there is none, or if another reply continues it. Passes on the others of the session whose calls
   * may count.
   */
  async function readLedger(key: string, onOther: (text: string) => void = () => {}): Promise<string | undefined> {
    if (!hasPrompt(key)) ownKeys.set(key, true)
    // Another reply continues this ledger.
    if ([...continuedKeys.values()].includes(key)) return undefined
    const session = sessionOf(key)
    const readKeys = checkedSessions.get(session)
    // Those of earlier processes were found by then, and only this one has stored any since.
    if (readKeys && !hasPrompt(key) && !readKeys.has(key) && readKeys.size < mostOfSession) {
      readKeys.add(key)
      return undefined
    }
    if (!ledgerKeyOf(key) || readKeys) return await state.read(keyOf(key))
    // One without a prompt most likely begins now, so only the others of its session can be there, and one call finds all.
    const own = hasPrompt(key) ? await state.read(keyOf(key)) : undefined
    if (own !== undefined) return own
    const stored = await state.list(keyOf(session))
    const others = stored.map((row) => row.key.slice(prefix.length))
    for (const row of stored) {
      const other = row.key.slice(prefix.length)
      if (other !== key && !writtenKeys.has(other) && hasCountedCalls(row)) onOther(row.value)
    }
    // Another reply of the session may have been read meanwhile, and its ledger stored.
    const meanwhile = checkedSessions.get(session) ?? []
    checkedSessions.set(session, new Set([...meanwhile, key, ...others].filter((one) => !hasPrompt(one))))
    return stored.find((row) => row.key === keyOf(key))?.value ?? leftStatusLedger(key, stored)
  }

  /**
   * Returns the newest ledger of a status message that an earlier process left in the session, whose stored ledgers these are, and
   * remembers that this reply continues it. Undefined if there is none. If a process exits before a reply's prompt is known, the
   * ledger's key is never read again, so the next reply of the session continues it and removes the status. The prompt of that one may
   * not be known either: a reply that this process posts itself begins without one.
   */
  function leftStatusLedger(key: string, stored: readonly StoredValue[]): string | undefined {
    for (const row of stored.toReversed()) {
      const leftKey = row.key.slice(prefix.length)
      // This process may show that reply itself.
      if (hasPrompt(leftKey) || ownKeys.has(leftKey)) continue
      const text = withLeftStatus(row.value)
      if (text === undefined) continue
      continuedKeys.set(key, leftKey)
      return text
    }
    return undefined
  }

  /**
   * Returns the writes that remove ledgers of the same reply under other keys: the one from before its prompt was known, and
   * the one of an earlier process that it continues, also if it was read before the prompt was known.
   */
  function removalsOfReplaced(key: string, formerKey: string | undefined): readonly Write[] {
    const former = formerKey === undefined || hasPrompt(formerKey) ? [] : [formerKey]
    const continued = [key, ...former].flatMap((one) => continuedKeys.get(one) ?? [])
    const old = [...former, ...continued.filter((one) => !ownKeys.has(one))]
    return old.map((one) => ({ type: 'remove', key: keyOf(one) }))
  }

  /**
   * Stores a ledger for `keptMs`, and removes the ledgers that this one replaces. If it names messages, calls `onShown`, and
   * stores their session unless its server is not known. Retries while the store fails.
   */
  async function writeLedger(key: string, text: string, formerKey: string | undefined): Promise<void> {
    if (!hasPrompt(key)) ownKeys.set(key, true)
    writtenKeys.set(key, true)
    const refs = messageRefsOf(text)
    const place = ledgerKeyOf(key)
    const server = place && serverOf(place.sessionID)
    if (place && refs.length > 0) onShown({ channel, chat: place.chat }, place.sessionID)
    const fresh = refs.filter(({ id }) => !rememberedIDs.get(key)?.has(id))
    const remembered =
      place && server !== undefined
        ? routes.writeMessages({ channel, chat: place.chat }, fresh, { server, sessionID: place.sessionID })
        : []
    const put = { type: 'put', key: keyOf(key), value: text, expiresInMs: keptMs } as const
    await state.withRetries(() => state.commit([put, ...removalsOfReplaced(key, formerKey), ...remembered]))
    continuedKeys.delete(key)
    if (formerKey !== undefined) continuedKeys.delete(formerKey)
    if (formerKey !== undefined) checkedSessions.get(sessionOf(key))?.delete(formerKey)
    if (server === undefined) return
    rememberedIDs.set(key, new Set(refs.map(({ id }) => id)))
  }
}

/** Returns the beginning of the keys of all replies of a session in a chat. */
function sessionOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1)
}

/** Whether the ledger was written so lately that its calls may count. */
function hasCountedCalls({ expiresInMs = 0 }: StoredValue): boolean {
  return expiresInMs > keptMs - countedMs
}

/** Whether the key ends with the id of the prompt. Until that is known, it ends with the start time of the reply. */
function hasPrompt(key: string): boolean {
  return !/\/\d+(\.\d+)?$/.test(key)
}

/** Returns the ledgers of a chat that name an ask, ordered by their keys. Retries while the store fails. */
export async function ledgersWith(
  requestID: string,
  { channel, chat }: ChatPlace,
  state: Pick<State, 'list' | 'withRetries'>,
): Promise<readonly string[]> {
  const stored = await state.withRetries(() => state.list(`ledger/${channel}/${encodeURIComponent(chat.id)}/`))
  return stored.flatMap(({ value }) => (value.includes(requestID) ? [value] : []))
}
