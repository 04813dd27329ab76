import { PortError, type PortErrorType } from '@reply/sink/channel'

/** An error response, as grammY's `GrammyError` carries it. */
export interface Refusal {
  readonly code: number
  readonly description: string
  readonly retryAfterS: number | undefined
}

/** Errors before a connection was made: the call can't have had an effect. */
const beforeSending: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/** Classifies the description of a 400; the first match wins. Telegram documents none of these texts. */
const badRequests: readonly (readonly [PortErrorType, RegExp])[] = [
  ['gone', /message to \w+ not found|message_id_invalid|message identifier is not specified/i],
  ['gone', /chat not found|chat_id_invalid|peer_id_invalid|thread not found|topic_deleted|upgraded to a supergroup/i],
  ['fixed', /message can't be (?:edited|deleted)|edit_time_expired|no text in the message to edit/i],
  ['too-long', /too[ _]long|too many blocks/i],
  // Other errors about rich messages are undocumented. Without markup the message isn't rich, so a retry avoids them
  // all.
  ['unparsable', /can't parse|entit(?:y|ies)|unsupported start tag|too many columns|rich/i],
]

/** Maps a failed call to the sink's error. The message has no URL, because the URL contains the token. */
export function toPortError(error: unknown, call: string): PortError {
  if (error instanceof PortError) return error
  const refusal = refusalOf(error)
  if (!refusal) return unanswered(error, call)
  const { code, description, retryAfterS } = refusal
  const message = `${call}: ${code} ${description}`
  const type = typeOf(refusal)
  if (type !== 'rate-limited') return new PortError(type, message, { cause: error })
  return new PortError(type, message, { cause: error, retryAfterMs: (retryAfterS ?? 1) * 1000 })
}

/** Undefined without a response, or with an unreadable one. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!isObject(error) || !('error_code' in error) || typeof error.error_code !== 'number') return undefined
  const description = 'description' in error ? String(error.description) : ''
  const parameters = 'parameters' in error && isObject(error.parameters) ? error.parameters : {}
  const retryAfterS =
    'retry_after' in parameters && typeof parameters.retry_after === 'number' ? parameters.retry_after : undefined
  return { code: error.error_code, description, retryAfterS }
}

/** The network error's code, searched down the chain of wrapped errors. */
export function networkCodeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; isObject(at) && depth < 5; depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code
    at = 'error' in at ? at.error : 'cause' in at ? at.cause : undefined
  }
  return undefined
}

function typeOf({ code, description }: Refusal): PortErrorType {
  if (code === 429) return 'rate-limited'
  // The gateway timed out; the server may still have acted.
  if (code === 504) return 'ambiguous'
  if (code >= 500) return 'unreachable'
  if (code !== 400) return 'refused'
  return badRequests.find(([, pattern]) => pattern.test(description))?.[0] ?? 'refused'
}

/** Drops the cause: network errors contain the URL, and with it the token. */
function unanswered(error: unknown, call: string): PortError {
  const code = networkCodeOf(error)
  if (code !== undefined && beforeSending.has(code))
    return new PortError('unreachable', `${call}: Telegram can't be reached (${code}).`)
  return new PortError('ambiguous', `${call}: no readable response arrived${code ? ` (${code})` : ''}.`)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
