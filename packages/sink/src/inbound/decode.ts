import * as z from 'zod'

const schema = z.object({ version: z.literal(1), ids: z.array(z.tuple([z.string(), z.number()])) })

/** Ids of inbounds, each with when it arrived, in ms since the epoch. Oldest first. */
export type InboundIds = readonly (readonly [id: string, at: number])[]

/** Throws if the text was not written by `writeIds`. */
export function readIds(text: string): InboundIds {
  return schema.parse(JSON.parse(text)).ids
}

export function writeIds(ids: InboundIds): string {
  return JSON.stringify({ version: 1, ids })
}
