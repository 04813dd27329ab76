import * as z from 'zod'
import type { Ledger } from './ledger.ts'

/** Checks only the version and the basic shape: ledgers are written by this package. */
const schema = z.object({
  version: z.literal(1),
  entries: z.array(z.object({ key: z.string(), state: z.string() })),
})

/** Parses a stored ledger. Throws if the text is not a ledger of this version. */
export function parseLedger(text: string): Ledger {
  const value: unknown = JSON.parse(text)
  schema.parse(value)
  return value as Ledger
}
