import type { z } from 'zod'
import type { ReplyFailure } from '../part.ts'
import type { failureSchema } from './schema.ts'

/** An error of the wire in the model's shape. Its message is a sentence of the provider's, or empty where it sent none. */
export function toFailure(wire: z.infer<typeof failureSchema>): ReplyFailure {
  return {
    name: wire.name ?? 'UnknownError',
    message: wire.data?.message ?? wire.message ?? '',
    statusCode: wire.data?.statusCode,
    retryable: wire.data?.isRetryable,
    raw: wire,
  }
}
