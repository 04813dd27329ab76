import type { LedgerStore } from '@reply/sink'
import { createRecent, type Recent } from '@reply/sink/internal'
import type { SharedState } from '../state/state.ts'
import type { StoredValue } from '../store/store.ts'

/** How long a late call is remembered, in ms: as long as the ledger of its reply. */
const keptMs = 2_592_000_000
/** For how many of the newest replies late calls are corrected. */
const mostListening = 100
/** How many reports without a listener are remembered for a shard. */
const mostUnheard = 1000

/** The part of a ledger store that reports late calls. */
type LateCalls = NonNullable<LedgerStore['late']>

/**
 * Reports late calls through the state: an edit that a replaced process made after its successor took over. The successor's
 * listener then makes its own edit again. The key of a row is the ledger's, and its value is the id of the message.
 */
export interface ChannelLateEdits extends LateCalls {
  /** Calls the listeners for the late calls that other processes reported. */
  callListeners(): Promise<void>
}

/** The hint that a late call was reported. */
export const lateHint = 'late'

/** The owner of a reply's chat in this process. */
interface ReplyOwner {
  /** Its shard, which is another object after another process had the chat. */
  readonly shard: object
  /** Begins to show the reply again, so that a listener follows. */
  showAgain(): void
}

/**
 * Creates the reports of a channel. `ownerOf` returns the owner of the reply with that ledger, which shows it again if a report has
 * no listener, and undefined if this process doesn't own the chat.
 */
export function createLateEdits(
  state: Pick<SharedState, 'list' | 'commitWithoutLease'>,
  channel: string,
  ownerOf: (key: string) => ReplyOwner | undefined,
): ChannelLateEdits {
  const prefix = `late/${channel}/`
  const listeners = new Map<string, Parameters<LateCalls['listen']>[1]>()
  /** By shard: the reports for which it shows the reply again. */
  const unheard = new WeakMap<object, Recent<true>>()
  let isCalling = false
  let isCalledAgain = false
  return { report, listen, callListeners }

  /** Stores a late call for the successor, for `keptMs`. Needs no lease, because this process has lost it. */
  async function report(key: string, { id }: Parameters<LateCalls['report']>[1]): Promise<void> {
    const put = { type: 'put', key: prefix + key, value: id, expiresInMs: keptMs } as const
    await state.commitWithoutLease([put], { hint: lateHint })
  }

  /**
   * Registers the listener of a ledger in place of an earlier one, and forgets the oldest one beyond `mostListening`. Returns a
   * function that undoes it.
   */
  function listen(key: string, listener: Parameters<LateCalls['listen']>[1]): () => void {
    listeners.delete(key)
    listeners.set(key, listener)
    const [oldest] = listeners.keys()
    if (listeners.size > mostListening && oldest !== undefined) listeners.delete(oldest)
    return () => {
      if (listeners.get(key) === listener) listeners.delete(key)
    }
  }

  /**
   * Calls the listeners of all stored reports, and resolves when all are done. While an earlier call is in progress, only makes that
   * look once more. Then rejects with the error of the oldest report whose listener failed, if any.
   */
  async function callListeners(): Promise<void> {
    isCalledAgain = true
    if (isCalling) return
    isCalling = true
    let failed: PromiseRejectedResult | undefined
    try {
      while (isCalledAgain) {
        isCalledAgain = false
        const rows = await state.list(prefix)
        const calls = await Promise.allSettled(rows.map(callListener))
        failed ??= calls.find((call) => call.status === 'rejected')
      }
    } finally {
      isCalling = false
    }
    if (failed) throw failed.reason
  }

  /**
   * Calls the listener of a report, and removes the row when the listener is done. Keeps the row without one, or if it rejects. One
   * that has stopped listening meanwhile counts as none: its process had the chat before another one.
   */
  async function callListener(row: StoredValue): Promise<void> {
    const { key, value } = row
    const ledgerKey = key.slice(prefix.length)
    const listener = listeners.get(ledgerKey)
    if (!listener) return showAgain(key, ledgerKey)
    try {
      await listener({ id: value })
    } catch (error) {
      if (listeners.get(ledgerKey) === listener) throw error
      return await callListener(row)
    }
    await state.commitWithoutLease([{ type: 'compare-and-set', key, expected: value, value: undefined }])
    const shard = ownerOf(ledgerKey)?.shard
    if (shard) unheard.get(shard)?.delete(key)
  }

  /** Shows the reply of a report again if this process owns its chat, once for each time that it does. */
  function showAgain(key: string, ledgerKey: string): void {
    const owner = ownerOf(ledgerKey)
    if (!owner) return
    const reports = unheard.get(owner.shard) ?? createRecent<true>(mostUnheard)
    unheard.set(owner.shard, reports)
    if (reports.has(key)) return
    reports.set(key, true)
    owner.showAgain()
  }
}
