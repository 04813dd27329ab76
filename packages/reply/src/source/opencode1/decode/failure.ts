import type * as z from 'zod/mini'
import type { ReplyFailure } from '../../../part.ts'
import { sentenceOf } from '../../../text/sentence.ts'
import type { failureSchema } from './schema.ts'

/** Converts a wire error to the model. Its message is the provider's or the server's sentence, or empty if it sent none; `raw` has all. */
export function toFailure(wire: z.infer<typeof failureSchema>): ReplyFailure {
  return {
    name: wire.name ?? 'UnknownError',
    message: sentenceOf(wire.data?.message ?? wire.message ?? ''),
    statusCode: wire.data?.statusCode,
    retryable: wire.data?.isRetryable,
    raw: wire,
  }
}
