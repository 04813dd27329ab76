import { PortError, type PortErrorType } from '@reply/sink/channel'

/** An error response, as `DiscordAPIError` and `HTTPError` carry it. */
export interface Refusal {
  readonly status: number
  /** Discord's error code. Undefined if the response isn't from Discord's API. */
  readonly code: number | undefined
  /** For an invalid form body, each wrong field has a line after the first: "content[BASE_TYPE_MAX_LENGTH]: …". */
  readonly message: string
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

/**
 * Error codes whose meaning differs from their HTTP status.
 * https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
 */
const codes: Readonly<Record<number, PortErrorType>> = {
  // Unknown channel, unknown message, unknown emoji.
  10003: 'gone',
  10008: 'gone',
  10014: 'gone',
  // Edits of messages older than an hour; of another author's; in an archived thread.
  30046: 'fixed',
  50005: 'fixed',
  50083: 'fixed',
  // Overloaded.
  130000: 'unreachable',
}

/**
 * Maps a failed call to the sink's error. Drops the cause: the client's errors contain the whole request, and routes of
 * interactions contain tokens.
 */
export function toPortError(error: unknown, call: string): PortError {
  if (error instanceof PortError) return error
  const limited = rateLimitOf(error)
  if (limited) {
    const { retryAfterMs, isGlobal } = limited
    const scope = isGlobal ? 'client' : 'chat'
    return new PortError('rate-limited', `${call}: 429, retry after ${retryAfterMs} ms`, { retryAfterMs, scope })
  }
  const refusal = refusalOf(error)
  if (!refusal) return unanswered(error, call)
  const { status, code, message } = refusal
  const said = [status, code, message].filter((one) => one !== undefined && one !== '').join(' ')
  const type = typeOf(refusal)
  return new PortError(type, `${call}: ${said}`, type === 'rate-limited' ? { retryAfterMs: 1000 } : {})
}

/** Undefined without a response, or with an unreadable one. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined
  return { status: error.status, code, message: error.message }
}

/** The client's own `RateLimitError`: for a 429, or thrown ahead of one that earlier headers announced. */
function rateLimitOf(error: unknown): { readonly retryAfterMs: number; readonly isGlobal: boolean } | undefined {
  if (!(error instanceof Error) || !('retryAfter' in error) || !('timeToReset' in error)) return undefined
  const retryAfterMs = typeof error.retryAfter === 'number' && error.retryAfter > 0 ? error.retryAfter : 1000
  return { retryAfterMs: Math.ceil(retryAfterMs), isGlobal: 'global' in error && error.global === true }
}

function typeOf({ status, code, message }: Refusal): PortErrorType {
  const known = code === undefined ? undefined : codes[code]
  if (known) return known
  if (code === 50035 && /^content\[BASE_TYPE_MAX_LENGTH\]/m.test(message)) return 'too-long'
  if (status === 429) return 'rate-limited'
  // The gateway timed out; the server may still have acted.
  if (status === 504) return 'ambiguous'
  return status >= 500 ? 'unreachable' : 'refused'
}

function unanswered(error: unknown, call: string): PortError {
  // The client drops a token that Discord refused, and then sends nothing.
  if (error instanceof Error && /^Expected token to be set/.test(error.message))
    return new PortError('refused', `${call}: the bot's token is missing or was rejected before. Set it again.`)
  const code = networkCodeOf(error)
  if (code !== undefined && beforeSending.has(code))
    return new PortError('unreachable', `${call}: Discord can't be reached (${code}).`)
  return new PortError('ambiguous', `${call}: no readable response arrived${code ? ` (${code})` : ''}.`)
}

/** The network error's code, searched down the chain of wrapped errors. */
function networkCodeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code
    at = at.cause
  }
  return undefined
}
