import type { ReplyFailure } from '../part.ts'

/**
 * What is behind a failure: the provider refused the `credentials`, the `context` is full, the answer exceeded the
 * `output` limit, the `model` is not available, too many requests (`rate`), or the `provider` itself failed.
 */
export type FailureCause = 'credentials' | 'context' | 'output' | 'model' | 'rate' | 'provider'

/** By the names that OpenCode 1 and 2 give. */
const causes: Readonly<Record<string, FailureCause>> = {
  ProviderAuthError: 'credentials',
  'provider.auth': 'credentials',
  ContextOverflowError: 'context',
  MessageOutputLengthError: 'output',
  ProviderModelNotFoundError: 'model',
  'provider.no-route': 'model',
  'provider.rate-limit': 'rate',
  'provider.internal': 'provider',
}

/** The cause of a failure, by its name and HTTP status; undefined if neither tells. */
export function causeOf({ name, statusCode = 0 }: Pick<ReplyFailure, 'name' | 'statusCode'>): FailureCause | undefined {
  if (Object.hasOwn(causes, name)) return causes[name]
  if (statusCode === 401 || statusCode === 403) return 'credentials'
  if (statusCode === 429) return 'rate'
  return statusCode >= 500 ? 'provider' : undefined
}
