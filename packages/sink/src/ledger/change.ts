import type { Entry } from './entry.ts'
import type { Ledger } from './ledger.ts'

/** Replaces the entry by a changed one. Does nothing if the ledger no longer has it. */
export function withChanged(ledger: Ledger, entry: Entry, changed: Entry): Ledger {
  return { ...ledger, entries: ledger.entries.map((one) => (isSameMessage(one, entry) ? changed : one)) }
}

/** Removes the entry. Does nothing if the ledger no longer has it. */
export function withoutEntry(ledger: Ledger, entry: Entry): Ledger {
  return { ...ledger, entries: ledger.entries.filter((one) => !isSameMessage(one, entry)) }
}

/** Whether the entry is the newest message. */
export function isNewest({ entries }: Ledger, entry: Entry): boolean {
  const newest = entries.at(-1)
  return newest !== undefined && isSameMessage(newest, entry)
}

/**
 * Whether both are the same message, perhaps in different states. Only replaced entries share their key with another
 * one.
 */
export function isSameMessage(a: Entry, b: Entry): boolean {
  return a.key === b.key && a.isReplaced === b.isReplaced && (!a.isReplaced || a.id === b.id)
}
