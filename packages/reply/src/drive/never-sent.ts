/** undici's code when no connection is made in time. https://undici.nodejs.org/#/docs/api/Errors */
const connectTimeout = 'UND_ERR_CONNECT_TIMEOUT'

/** Node's names of the steps before a request can be sent. */
const before: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])

/** Node's and undici's codes of a connection that ended before the response. */
const cutOff: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/**
 * Whether the call failed before it had a connection, so that the server surely got nothing. A connection that broke
 * leaves that open.
 */
export function wasNeverSent(error: unknown): boolean {
  return hasCause(error, failedBefore)
}

/**
 * Whether the connection ended before a response came. Servers close connections that were idle, so a call on a kept
 * one may meet its end: the server then got nothing. The error doesn't tell that from a call that was taken.
 */
export function wasCutOff(error: unknown): boolean {
  return !wasNeverSent(error) && hasCause(error, (inner) => cutOff.has(Reflect.get(inner, 'code')))
}

function hasCause(error: unknown, holds: (inner: Error) => boolean): boolean {
  let inner = error
  for (let depth = 0; depth < 5 && inner instanceof Error; depth++) {
    if (holds(inner)) return true
    inner = inner.cause
  }
  return false
}

function failedBefore(error: Error): boolean {
  // A name with several addresses: each was tried.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(wasNeverSent)
  return Reflect.get(error, 'code') === connectTimeout || before.has(Reflect.get(error, 'syscall'))
}
