import { SinkError } from '../error.ts'
import { withChanged } from '../ledger/change.ts'
import type { LateCalls, Ledger } from '../ledger/ledger.ts'
import type { MessageRef } from '../port/port.ts'
import type { Operation } from './operation.ts'

/**
 * Edits that a process made after another had taken over, as one that was stopped between its last check and the call.
 * They may put an older text over the newest one, so the process that shows the reply now makes its edit again.
 */
export interface LateEdits {
  /** Listens for those of a reply's messages. Does nothing if it listens to that key already. */
  listen(key: string): void
  /** The ledger, in which the messages that were told of may show an older text. The same object if there are none. */
  noted(ledger: Ledger): Ledger
  /** What `noted` returned last is written down. */
  kept(): void
  /** The operation was performed, and its result could not be written down. Never rejects. */
  tell(key: string, operation: Operation): Promise<void>
  stop(): void
}

interface LateEdit {
  readonly ref: MessageRef
  readonly resolve: () => void
}

/** Calls `onArrived` when another process reported a late edit. */
export function createLateEdits(
  late: LateCalls | undefined,
  onArrived: () => void,
  onError: (error: SinkError) => void,
): LateEdits {
  let listening: { readonly key: string; readonly end: () => void } | undefined
  let arrived: readonly LateEdit[] = []
  let noting: readonly LateEdit[] = []
  return { listen, noted, kept, tell, stop }

  function listen(key: string): void {
    if (!late || listening?.key === key) return
    stop()
    listening = { key, end: late.listen(key, note) }
  }

  function note(ref: MessageRef): Promise<void> {
    return new Promise((resolve) => {
      arrived = [...arrived, { ref, resolve }]
      onArrived()
    })
  }

  function noted(ledger: Ledger): Ledger {
    noting = [...noting, ...arrived]
    const next = arrived.reduce((known, { ref }) => withUnsure(known, ref), ledger)
    arrived = []
    if (next === ledger) kept()
    return next
  }

  function kept(): void {
    for (const { resolve } of noting) resolve()
    noting = []
  }

  async function tell(key: string, operation: Operation): Promise<void> {
    if (operation.type !== 'edit') return
    try {
      await late?.report(key, operation.entry.ref)
    } catch (cause) {
      const message = `An edit was made after another process took over, and that one could not be told: message ${operation.entry.ref.id} may show an older text.`
      onError(new SinkError('store', message, { cause }))
    }
  }

  function stop(): void {
    listening?.end()
    listening = undefined
  }
}

function withUnsure(ledger: Ledger, { id }: MessageRef): Ledger {
  const entry = ledger.entries.find((one) => one.state === 'shown' && one.ref.id === id)
  if (entry?.state !== 'shown') return ledger
  return withChanged(ledger, entry, { ...entry, isUnsure: true })
}
