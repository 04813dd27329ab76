import { z } from 'zod'
import type { Ledger } from './ledger.ts'

/** What it is trusted for beyond its version: it was written by this package. */
const schema = z.object({ version: z.literal(1), entries: z.array(z.object({ key: z.string(), state: z.string() })) })

/** Throws for a text that is no ledger of this version. */
export function toLedger(text: string): Ledger {
  const value: unknown = JSON.parse(text)
  schema.parse(value)
  return value as Ledger
}
