import { isTakenOver, SinkError } from '../error.ts'
import { toLedger } from './decode.ts'
import { emptyLedger, type Ledger, type LedgerStore } from './ledger.ts'

export interface LedgerStorage {
  /** Reads the ledger of an earlier process; empty if there is none. Never rejects. */
  load(key: string): Promise<Ledger>
  /**
   * Resolves when this and all earlier writes are done, also if the store failed: the answer is still shown. Rejects only
   * with `taken-over`, and then for each later write, too.
   */
  write(key: string, ledger: Ledger): Promise<void>
}

export interface LedgerStorageOptions {
  readonly store: LedgerStore
  readonly onError: (error: SinkError) => void
}

export function createLedgerStorage({ store, onError }: LedgerStorageOptions): LedgerStorage {
  let last = Promise.resolve()
  let isReported = false
  /** The key that was written last. */
  let written: string | undefined
  return { load, write }

  async function load(key: string): Promise<Ledger> {
    try {
      const text = await store.read(key)
      return text === undefined ? emptyLedger : toLedger(text)
    } catch (cause) {
      const message = `The ledger ${key} could not be read: what this chat already shows is unknown, so it may be shown twice.`
      onError(new SinkError('store', message, { cause }))
      return emptyLedger
    }
  }

  function write(key: string, ledger: Ledger): Promise<void> {
    last = last.then(() => writeOne(key, JSON.stringify(ledger)))
    return last
  }

  async function writeOne(key: string, text: string): Promise<void> {
    try {
      await store.write(key, text, ...(written === undefined || written === key ? [] : [written]))
      written = key
      isReported = false
    } catch (cause) {
      if (isTakenOver(cause)) throw cause
      if (isReported) return
      isReported = true
      const message = `The ledger ${key} could not be written: after a restart, what this chat shows would be unknown.`
      onError(new SinkError('store', message, { cause }))
    }
  }
}
