import { PortError, type PortErrorOptions, type PortErrorType } from './port-error.ts'
import { quotable } from './secrets.ts'

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

/** The fields in which clients put the original error: by the standard, grammY, and Slack's client. */
const wrapped = ['cause', 'error', 'original'] as const

/** A platform's error response, as the sink understands it. */
export interface Refusal extends PortErrorOptions {
  /** The type of the error for the sink. */
  readonly type: PortErrorType
  /** The platform's own explanation, for the message. Tokens are removed. */
  readonly reason: string
}

/** Maps a failed call to the sink's error. `call` names the call and its place, as in "post in chat 7". */
export type ToPortError = (error: unknown, call: string) => PortError

/**
 * Creates a channel's mapping of failed calls. `refusalOf` reads the platform's own errors, and returns undefined if no
 * readable response arrived. The code of the network error then decides whether the call was sent. Such an error has no
 * cause, because network errors often contain the URL and with it the token. A `PortError` is returned as it is.
 */
export function createToPortError(platform: string, refusalOf: (error: unknown) => Refusal | undefined): ToPortError {
  return (error, call) => {
    if (error instanceof PortError) return error
    const refusal = refusalOf(error)
    if (refusal) return new PortError(refusal.type, `${call}: ${quotable(refusal.reason)}`, refusal)
    const code = networkCodeOf(error)
    const type = typeOfNetworkError(error)
    const problem = type === 'unreachable' ? `${platform} can't be reached` : 'no readable response arrived'
    return new PortError(type, `${call}: ${problem}${code === undefined ? '' : ` (${code})`}.`)
  }
}

/** Returns `unreachable` if the call was certainly not sent, otherwise `ambiguous`. */
export function typeOfNetworkError(error: unknown): 'unreachable' | 'ambiguous' {
  return beforeSending.has(networkCodeOf(error) ?? '') ? 'unreachable' : 'ambiguous'
}

/**
 * Returns the code of a network error, for example `ECONNREFUSED`, also of one wrapped up to five times. Undefined without.
 */
export function networkCodeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 6; depth++) {
    const layer: object = at
    // Clients have codes of their own in small letters, such as `slack_webapi_request_error`.
    if ('code' in layer && typeof layer.code === 'string' && /^[A-Z][A-Z\d_]+$/.test(layer.code)) return layer.code
    at = wrapped.map((name): unknown => Reflect.get(layer, name)).find((inner) => inner !== undefined)
  }
  return undefined
}

/**
 * Returns the meaning of an HTTP status, for errors that the platform doesn't explain further: `too-long` for 413,
 * `rate-limited` for 429, `refused` for other 3xx and 4xx. `ambiguous` for 5xx, and below 300 because its answer was not
 * readable.
 */
export function typeOfStatus(status: number): PortErrorType {
  // Accepted, but without a readable answer.
  if (status < 300) return 'ambiguous'
  if (status === 413) return 'too-long'
  if (status === 429) return 'rate-limited'
  // A gateway responds with a 5xx if the server is silent, but the server may still have acted.
  return status >= 500 ? 'ambiguous' : 'refused'
}
