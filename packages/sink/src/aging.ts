import type { Entry, Ledger } from './ledger.ts'
import { changeEntry, fixed } from './outcome.ts'

/** What is too old to be edited is not tried: platforms may take such an edit, and show nothing of it. */
export function aged(
  ledger: Ledger,
  {
    now,
    editWindowMs = Number.POSITIVE_INFINITY,
  }: { readonly now: number; readonly editWindowMs?: number | undefined },
): Ledger {
  const old = ledger.entries.filter(
    ({ state, isFixed, at }) => state === 'shown' && !isFixed && now - at >= editWindowMs,
  )
  // A status gives way to another one.
  const given = (next: Ledger, { key, id }: Entry): Ledger =>
    changeEntry(next, key, { key: `${key}~${id}`, card: `${key}~`, isFixed: true })
  return old.reduce((next, entry) => (entry.key === 'status' ? given(next, entry) : fixed(next, entry)), ledger)
}
