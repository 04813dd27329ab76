import * as z from 'zod'
import { type LedgerOfVersion1, upgraded } from './decode-version-1.ts'
import type { Entry } from './entry.ts'
import type { Ledger } from './ledger.ts'

/** Checks only the version and the basic shape: ledgers are written by this package. */
const schema = z.object({
  version: z.literal([1, 2]),
  entries: z.array(z.object({ key: z.string(), state: z.string() })),
})

/** A ledger from before `told` was renamed. */
type LedgerWithTold = Omit<Ledger, 'reported' | 'entries'> & {
  readonly told?: Ledger['reported']
  readonly reported?: Ledger['reported']
  readonly entries: readonly (Entry & { readonly told?: Ledger['reported'] })[]
}

/** Converts ledgers of earlier versions. Throws if the text is not a ledger of a known version. */
export function toLedger(text: string): Ledger {
  const value: unknown = JSON.parse(text)
  const { version } = schema.parse(value)
  return renamed(version === 1 ? upgraded(value as LedgerOfVersion1) : (value as LedgerWithTold))
}

function renamed({ told = [], reported = told, entries, ...ledger }: LedgerWithTold): Ledger {
  const withReported = entries.map(({ told: before, ...entry }): Entry => {
    return before ? { ...entry, reported: before } : entry
  })
  return { ...ledger, reported, entries: withReported }
}
