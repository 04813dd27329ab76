import * as z from 'zod'

/** An answer that its chat does not show, or may not show. It is kept for 30 days, or until it is posted again. */
const delivery = z.readonly(
  z.object({
    type: z.literal('delivery'),
    /** The id that people know the run by. */
    id: z.string(),
    /** The channel's name in the config. */
    channel: z.string(),
    chat: z.object({
      id: z.string(),
      thread: z.string().optional(),
      isThread: z.literal(true).optional(),
      kind: z.enum(['private', 'shared']).optional(),
    }),
    /** The server's name in the config. */
    server: z.string(),
    /** Absent if it ended before it had a session. */
    sessionID: z.string().optional(),
    /** How many of its messages are missing. */
    missing: z.number(),
    /** Why the first of them is. */
    reason: z.string(),
    /** The whole answer, in Markdown. */
    text: z.string(),
    /** In ms since the epoch. */
    at: z.number(),
    /** The chat was told. */
    isTold: z.literal(true).optional(),
  }),
)

/** A row of the state that could not be read, and was taken out of the way. */
const row = z.readonly(
  z.object({
    type: z.literal('row'),
    /** Where it was: its key, or the name of its queue. */
    key: z.string(),
    /** Its id in the queue. Absent for a row that was not in one. */
    id: z.string().optional(),
    /** As it was. */
    value: z.string(),
    /** What is wrong with it. */
    reason: z.string(),
    /** In ms since the epoch. */
    at: z.number(),
  }),
)

export type FailedDelivery = z.infer<typeof delivery>
export type UnreadableRow = z.infer<typeof row>

/** What failed for good. */
export type Failure = FailedDelivery | UnreadableRow

/** Throws if the text isn't a failure. */
export function toFailure(text: string): Failure {
  return z.union([delivery, row]).parse(JSON.parse(text))
}

/** What is wrong with a row, without what is in it. */
export function faultOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'it is not JSON'
  if (error instanceof z.ZodError) {
    const [first] = error.issues
    const path = first?.path.join('.') ?? ''
    return path === '' ? 'it is not what was expected' : `its field "${path}" is not what was expected`
  }
  return 'it is not what was expected'
}
