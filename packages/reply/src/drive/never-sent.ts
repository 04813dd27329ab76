/** undici's code when no connection is made in time. https://undici.nodejs.org/#/docs/api/Errors */
const connectTimeout = 'UND_ERR_CONNECT_TIMEOUT'

/** Node's names of the steps before a request can be sent. */
const stepsBeforeSending: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])

/** Node's and undici's codes of a connection that ended before the response. */
const cutOffCodes: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/**
 * Whether the error, or one of up to four causes below it, shows that the call had no connection, so the server can't
 * have received it. A connection that broke later leaves that open.
 */
export function wasNeverSent(error: unknown): boolean {
  return hasCause(error, failedBeforeSending)
}

/**
 * Whether the error or one of its causes shows that the connection ended before the response. False if the call was
 * never sent. Servers close idle connections, so a call on a reused connection may fail without reaching the server.
 * The error looks the same if the server did take the call.
 */
export function wasCutOff(error: unknown): boolean {
  return !wasNeverSent(error) && hasCause(error, (inner) => cutOffCodes.has(Reflect.get(inner, 'code')))
}

/** Whether `holds` is true for the error or one of up to four causes below it. */
function hasCause(error: unknown, holds: (inner: Error) => boolean): boolean {
  let inner = error
  for (let depth = 0; depth < 5 && inner instanceof Error; depth++) {
    if (holds(inner)) return true
    inner = inner.cause
  }
  return false
}

/**
 * Whether this error, without its causes, shows that no connection was made. For several addresses: for none of them.
 */
function failedBeforeSending(error: Error): boolean {
  // A host name with several addresses: each one was tried.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(wasNeverSent)
  return Reflect.get(error, 'code') === connectTimeout || stepsBeforeSending.has(Reflect.get(error, 'syscall'))
}
