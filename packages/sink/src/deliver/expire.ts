import type { Entry, Ledger } from '../ledger/ledger.ts'
import { changeEntry, fixed } from './transitions.ts'

/** Marks entries that are too old to edit. Platforms may accept such an edit without showing it. */
export function expired(
  ledger: Ledger,
  {
    now,
    editWindowMs = Number.POSITIVE_INFINITY,
  }: { readonly now: number; readonly editWindowMs?: number | undefined },
): Ledger {
  const old = ledger.entries.filter(
    ({ state, isFixed, at }) => state === 'shown' && !isFixed && now - at >= editWindowMs,
  )
  // An old status makes room for a new one.
  const given = (next: Ledger, { key, id }: Entry): Ledger =>
    changeEntry(next, key, { key: `${key}~${id}`, card: `${key}~`, isFixed: true })
  return old.reduce((next, entry) => (entry.key === 'status' ? given(next, entry) : fixed(next, entry)), ledger)
}
