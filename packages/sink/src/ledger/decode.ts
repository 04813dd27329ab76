import * as z from 'zod'
import { type LedgerOfVersion1, upgraded } from './decode-version-1.ts'
import type { Ledger } from './ledger.ts'

/** Checks only the version and the basic shape: ledgers are written by this package. */
const schema = z.object({
  version: z.literal([1, 2]),
  entries: z.array(z.object({ key: z.string(), state: z.string() })),
})

/** Converts ledgers of earlier versions. Throws if the text is not a ledger of a known version. */
export function toLedger(text: string): Ledger {
  const value: unknown = JSON.parse(text)
  const { version } = schema.parse(value)
  return version === 1 ? upgraded(value as LedgerOfVersion1) : (value as Ledger)
}
