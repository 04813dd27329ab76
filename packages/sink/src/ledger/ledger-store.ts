import { isTakenOver, SinkError } from '../error.ts'
import { parseLedger } from './decode.ts'
import { emptyLedger, type Ledger, type LedgerStore, type RecentCalls } from './ledger.ts'

export interface LedgerStorage {
  /**
   * Reads the ledger of an earlier process. Resolves with `emptyLedger` if there is none, or if the store failed. Only rejects
   * with `taken-over`. `isSameReply`: the key that was used before is of the same reply, so the next write replaces that ledger.
   */
  load(key: string, isSameReply?: boolean): Promise<Ledger>
  /**
   * Resolves when this and all earlier writes are done, even if the store failed, because the reply is still shown. Only
   * rejects with `taken-over`, and from then on for each later write.
   */
  write(key: string, ledger: Ledger): Promise<void>
}

/**
 * Creates the storage of one reply's ledger. Reports a failed read, and the first of several failed writes. Calls `onOtherCalls`
 * before a read resolves: with the calls in ledgers of other replies that the store has read meanwhile, the newest first.
 */
export function createLedgerStorage(
  store: LedgerStore,
  onOtherCalls: (recent: RecentCalls) => void,
  onError: (error: SinkError) => void,
): LedgerStorage {
  let lastWrite = Promise.resolve()
  let isReported = false
  /** The last key that was read or written, until the next write: its ledger is replaced if that has another key. */
  let lastKey: string | undefined
  return { load, write }

  /** Reads the ledger. If it can't be read, reports that and resolves with an empty one. Rejects only with `taken-over`. */
  async function load(key: string, isSameReply = false): Promise<Ledger> {
    if (!isSameReply) lastKey = key
    const others: string[] = []
    try {
      const text = await store.read(key, (other) => others.push(other))
      for (const recent of recentCallsIn(others)) onOtherCalls(recent)
      return text === undefined ? emptyLedger : parseLedger(text)
    } catch (cause) {
      if (isTakenOver(cause)) throw cause
      const message = `The ledger ${key} could not be read, so messages that the chat already shows may be posted again.`
      onError(new SinkError('store', message, { cause }))
      return emptyLedger
    }
  }

  /** Writes the ledger, after all earlier writes. */
  function write(key: string, ledger: Ledger): Promise<void> {
    lastWrite = lastWrite.then(() => writeOrReport(key, JSON.stringify(ledger)))
    return lastWrite
  }

  /**
   * Writes the text, under a new key together with the former one, and reports the first of several failures. Rejects only with
   * `taken-over`.
   */
  async function writeOrReport(key: string, text: string): Promise<void> {
    try {
      await store.write(key, text, ...(lastKey === undefined || lastKey === key ? [] : [lastKey]))
      lastKey = key
      isReported = false
    } catch (cause) {
      if (isTakenOver(cause)) throw cause
      if (isReported) return
      isReported = true
      const message = `The ledger ${key} could not be written. After a restart, messages may be posted again.`
      onError(new SinkError('store', message, { cause }))
    }
  }
}

/**
 * Returns the recent calls in these ledgers, the newest first: each has those of the whole chat as of its write. Leaves out ledgers of
 * another version.
 */
function recentCallsIn(texts: readonly string[]): readonly RecentCalls[] {
  const newestIn = ({ times }: RecentCalls): number => Math.max(...Object.values(times).flat())
  return texts.flatMap((text) => readLedger(text)?.recent ?? []).toSorted((a, b) => newestIn(b) - newestIn(a))
}

/** Parses a ledger. Undefined for another version. */
function readLedger(text: string): Ledger | undefined {
  try {
    return parseLedger(text)
  } catch {
    return undefined
  }
}
