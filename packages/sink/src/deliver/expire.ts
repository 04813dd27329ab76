import { withChanged } from '../ledger/change.ts'
import { isEditable, replaced, type ShownEntry } from '../ledger/entry.ts'
import { statusKey } from '../ledger/keys.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { fixed } from './failure.ts'

/** Marks entries that are too old to edit. Platforms may accept such an edit without showing it. */
export function expired(
  ledger: Ledger,
  {
    now,
    editWindowMs = Number.POSITIVE_INFINITY,
  }: { readonly now: number; readonly editWindowMs?: number | undefined },
): Ledger {
  const old = ledger.entries.filter(isEditable).filter(({ at }) => now - at >= editWindowMs)
  return old.reduce((next, entry) => (entry.key === statusKey ? retired(next, entry) : fixed(next, entry)), ledger)
}

/** An old status makes room for a new one. */
function retired(ledger: Ledger, entry: ShownEntry): Ledger {
  return withChanged(ledger, entry, replaced({ ...entry, access: { type: 'fixed' } }))
}
