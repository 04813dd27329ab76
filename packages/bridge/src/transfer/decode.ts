import * as z from 'zod'

const header = z.object({ format: z.literal('reply bridge state'), version: z.number().int().min(1) })

const row = z.union([
  z.strictObject({ key: z.string(), value: z.string(), expiresInMs: z.number().nonnegative().optional() }),
  z.strictObject({ queue: z.string(), id: z.string(), value: z.string() }),
])

const end = z.strictObject({ values: z.number(), entries: z.number(), sha256: z.string() })

/** The first line of a file with a state. A newer version has a higher number. */
export type FileHeader = z.infer<typeof header>

/** A value of a state, or an entry of one of its queues. */
export type StateRow = z.infer<typeof row>

/** The last line of a file with a state: how many values and entries it has, and the checksum of all lines above. */
export type FileEnd = z.infer<typeof end>

/** Parses the first line of a file. Undefined if the file is not one with a state. */
export function toFileHeader(text: string): FileHeader | undefined {
  try {
    return header.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Parses another line of a file. Undefined if it is neither a row nor the end. */
export function toFileLine(text: string): StateRow | FileEnd | undefined {
  try {
    return z.union([row, end]).parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
