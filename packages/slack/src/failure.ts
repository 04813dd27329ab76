import { PortError, type PortErrorType } from '@reply/sink/channel'

/** An error response, as the errors of `@slack/web-api` carry it. */
export type Refusal =
  | { readonly type: 'limited'; readonly retryAfterS: number }
  /** `ok: false`, with one of Slack's error codes. */
  | { readonly type: 'refused'; readonly error: string; readonly details: readonly string[] }
  | { readonly type: 'status'; readonly code: number }

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

/** Slack's error codes; all others map to `refused`. https://docs.slack.dev/reference/methods/chat.postMessage#errors */
const meanings: Readonly<Record<string, PortErrorType>> = {
  ratelimited: 'rate-limited',
  rate_limited: 'rate-limited',
  message_not_found: 'gone',
  channel_not_found: 'gone',
  thread_not_found: 'gone',
  cant_update_message: 'fixed',
  cant_delete_message: 'fixed',
  edit_window_closed: 'fixed',
  // Slack or a person closed the stream.
  message_not_in_streaming_state: 'fixed',
  stopped_by_user: 'fixed',
  msg_too_long: 'too-long',
  msg_blocks_too_long: 'too-long',
  invalid_blocks: 'unparsable',
  invalid_blocks_format: 'unparsable',
  // Another process is streaming to the message, or one ended without closing it. Slack closes it by itself.
  streaming_state_conflict: 'unreachable',
  service_unavailable: 'unreachable',
  request_timeout: 'unreachable',
  team_added_to_org: 'unreachable',
  // Documented for both: "It's possible some aspect of the operation succeeded".
  fatal_error: 'ambiguous',
  internal_error: 'ambiguous',
}

/** Maps a failed call to the sink's error. Only Slack's own errors are kept as the cause: they contain no headers. */
export function toPortError(error: unknown, call: string, scope: 'chat' | 'client' = 'chat'): PortError {
  if (error instanceof PortError) return error
  const refusal = refusalOf(error)
  if (!refusal) return unanswered(error, call)
  if (refusal.type === 'limited') {
    const retryAfterMs = Math.max(1, refusal.retryAfterS) * 1000
    return new PortError('rate-limited', `${call}: 429, retry after ${retryAfterMs} ms.`, { retryAfterMs, scope })
  }
  if (refusal.type === 'status') {
    const { code } = refusal
    // The gateway timed out; the server may still have acted.
    const type = code === 504 ? 'ambiguous' : code >= 500 ? 'unreachable' : 'refused'
    return new PortError(type, `${call}: status ${code} without a readable response.`)
  }
  const type = meanings[refusal.error] ?? 'refused'
  const message = [`${call}: ${refusal.error}`, ...refusal.details].join(' ')
  const wait = type === 'rate-limited' ? { retryAfterMs: 1000, scope } : {}
  return new PortError(type, message, { cause: error, ...wait })
}

/** Undefined without a response, or with an unreadable one. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!isObject(error)) return undefined
  if ('retryAfter' in error && typeof error.retryAfter === 'number')
    return { type: 'limited', retryAfterS: error.retryAfter }
  // The client's error text for a 429 without a usable Retry-After header.
  if (error instanceof Error && error.message.startsWith('Retry header')) return { type: 'limited', retryAfterS: 30 }
  if ('statusCode' in error && typeof error.statusCode === 'number') return { type: 'status', code: error.statusCode }
  if (!('data' in error) || !isObject(error.data) || !('error' in error.data)) return undefined
  const { data } = error
  // If the body isn't JSON, the client puts all of it here, such as a proxy's HTML page.
  if (typeof data.error !== 'string' || !/^[a-z][\w-]{0,60}$/i.test(data.error)) return undefined
  return { type: 'refused', error: data.error, details: detailsIn(data) }
}

/** Slack's error code, if the error is one of Slack's. */
export function wordOf(error: unknown): string | undefined {
  const refusal = refusalOf(error)
  return refusal?.type === 'refused' ? refusal.error : undefined
}

/** Slack's details, such as what is wrong with a block. */
function detailsIn(data: object): readonly string[] {
  if (!('response_metadata' in data) || !isObject(data.response_metadata)) return []
  const { response_metadata: more } = data
  if (!('messages' in more) || !Array.isArray(more.messages)) return []
  return more.messages.filter((one) => typeof one === 'string').slice(0, 3)
}

function unanswered(error: unknown, call: string): PortError {
  const code = networkCodeOf(error)
  if (code !== undefined && beforeSending.has(code))
    return new PortError('unreachable', `${call}: Slack can't be reached (${code}).`)
  return new PortError('ambiguous', `${call}: no readable response arrived${code ? ` (${code})` : ''}.`)
}

/** The network error's code, searched down the chain of wrapped errors. */
export function networkCodeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; isObject(at) && depth < 6; depth++) {
    if ('code' in at && typeof at.code === 'string' && !at.code.startsWith('slack_')) return at.code
    at = 'original' in at ? at.original : 'cause' in at ? at.cause : undefined
  }
  return undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
