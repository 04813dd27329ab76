import { SinkError } from '../error.ts'
import { withChanged } from '../ledger/change.ts'
import type { LateCalls, Ledger } from '../ledger/ledger.ts'
import type { MessageRef } from '../port/port.ts'
import type { Operation } from './operation.ts'

/** Reports this process's late edits, and repeats edits that a late edit of another process may have overwritten. */
export interface LateEdits {
  /** Listens for late edits of a reply's messages. Does nothing if it already listens to this key. */
  listen(key: string): void
  /** Marks the reported messages as unsure, so that they are edited again. Returns the same object if there are none. */
  markUnsure(ledger: Ledger): Ledger
  /** Confirms the reports from `markUnsure`, so that they don't arrive again. Call it once its ledger has been written. */
  confirmReports(): void
  /** Reports an operation that was performed after another process took over. Only edits are reported. Never rejects. */
  reportIfEdit(key: string, operation: Operation): Promise<void>
  /**
   * Stops listening, and rejects the reports that are not confirmed: this process won't repeat the edit. Does nothing if it doesn't
   * listen.
   */
  stopListening(): void
}

interface ReportedEdit {
  readonly ref: MessageRef
  readonly resolve: () => void
  readonly reject: (error: SinkError) => void
}

/**
 * Creates the exchange of late edits for one reply: edits that a process made after another had taken over. Calls `onArrived`
 * when another process reports one. Without `late` nothing arrives and nothing is reported.
 */
export function createLateEdits(
  late: LateCalls | undefined,
  onArrived: () => void,
  onError: (error: SinkError) => void,
): LateEdits {
  let listening: { readonly key: string; readonly end: () => void } | undefined
  let arrived: readonly ReportedEdit[] = []
  /** Reports whose messages `markUnsure` has marked, in a ledger that may not have been written yet. */
  let unconfirmed: readonly ReportedEdit[] = []
  return { listen, markUnsure, confirmReports, reportIfEdit, stopListening }

  /** Stops listening to the former key. Does nothing if it already listens to this one. */
  function listen(key: string): void {
    if (!late || listening?.key === key) return
    listening?.end()
    listening = { key, end: late.listen(key, queueReport) }
  }

  /**
   * Queues a report of another process. Resolves once it is confirmed, when the ledger with it has been written. Rejects if the
   * reply is stopped before that.
   */
  function queueReport(ref: MessageRef): Promise<void> {
    return new Promise((resolve, reject) => {
      arrived = [...arrived, { ref, resolve, reject }]
      onArrived()
    })
  }

  /**
   * Returns the ledger with the messages of the queued reports marked as unsure. If that changes nothing, confirms the
   * reports at once.
   */
  function markUnsure(ledger: Ledger): Ledger {
    unconfirmed = [...unconfirmed, ...arrived]
    const next = arrived.reduce((known, { ref }) => withUnsureMessage(known, ref), ledger)
    arrived = []
    if (next === ledger) confirmReports()
    return next
  }

  /** Confirms the reports that `markUnsure` used, so that they don't arrive again. Does nothing if there are none. */
  function confirmReports(): void {
    for (const { resolve } of unconfirmed) resolve()
    unconfirmed = []
  }

  /** Reports an edit to the other processes. An error goes to `onError`. */
  async function reportIfEdit(key: string, operation: Operation): Promise<void> {
    if (operation.type !== 'edit') return
    try {
      await late?.report(key, operation.entry.ref)
    } catch (cause) {
      const message = `Message ${operation.entry.ref.id} may show an older text: it was edited after another process took over, which could not be notified.`
      onError(new SinkError('store', message, { cause }))
    }
  }

  /** Stops listening, and rejects the reports that are not confirmed. */
  function stopListening(): void {
    listening?.end()
    listening = undefined
    const stopped = new SinkError('taken-over', 'This process no longer shows the reply.')
    for (const { reject } of [...arrived, ...unconfirmed]) reject(stopped)
    arrived = []
    unconfirmed = []
  }
}

/** Marks a message as unsure. Returns the same object if no entry shows that message. */
function withUnsureMessage(ledger: Ledger, { id }: MessageRef): Ledger {
  const entry = ledger.entries.find((one) => one.state === 'shown' && one.ref.id === id)
  if (entry?.state !== 'shown') return ledger
  return withChanged(ledger, entry, { ...entry, isUnsure: true })
}
