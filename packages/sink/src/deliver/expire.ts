import type { CardType } from '../ledger/card.ts'
import { withChanged } from '../ledger/change.ts'
import { isEditable, replaced, type ShownEntry } from '../ledger/entry.ts'
import { statusKey } from '../ledger/keys.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Limits } from '../port/limits.ts'
import { fixed } from './failure.ts'

/** Marks entries that are too old to edit. Platforms may accept such an edit without showing it. */
export function expired(ledger: Ledger, { now, limits }: { readonly now: number; readonly limits: Windows }): Ledger {
  const old = ledger.entries
    .filter(isEditable)
    .filter(({ at, since = at, type }) => now - since >= windowOf(type, limits))
  return old.reduce((next, entry) => (entry.key === statusKey ? retired(next, entry) : fixed(next, entry)), ledger)
}

type Windows = Pick<Limits, 'editWindowMs' | 'growWindowMs'>

function windowOf(type: CardType, { editWindowMs = Number.POSITIVE_INFINITY, growWindowMs }: Windows): number {
  return type === 'ask' || growWindowMs === undefined ? editWindowMs : Math.min(editWindowMs, growWindowMs)
}

/** An old status makes room for a new one. */
function retired(ledger: Ledger, entry: ShownEntry): Ledger {
  return withChanged(ledger, entry, replaced({ ...entry, access: { type: 'fixed' } }))
}
