import { StoreError } from '@reply/bridge'

/** What an error of PostgreSQL or of the connection means. `busy`: nothing was written, and a retry may succeed. */
interface Meaning {
  readonly type: 'busy' | 'failed'
  /** The end of a sentence that begins with the server. */
  readonly sentence: string
}

const unreachable = "can't be reached. Start it, or correct the address."
const goingOn = 'is starting or stopping. The call is tried again.'

/** By SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const meanings: Readonly<Record<string, Meaning>> = {
  '25006': { type: 'busy', sentence: 'is read-only: this server is a standby. Name the primary in the URL.' },
  '28000': { type: 'failed', sentence: 'refuses the user. Check the URL and pg_hba.conf.' },
  '28P01': { type: 'failed', sentence: 'refuses the user or the password. Correct them in the URL.' },
  '3D000': { type: 'failed', sentence: 'has no such database. Create it, or correct its name in the URL.' },
  '40001': { type: 'busy', sentence: 'served another process first. The call is tried again.' },
  '40P01': { type: 'busy', sentence: 'served another process first. The call is tried again.' },
  '42501': {
    type: 'failed',
    sentence: 'gives this user too few rights. Grant it CREATE on the database, or on the schema.',
  },
  '42P07': { type: 'failed', sentence: 'has tables of another program in this schema. Name another one.' },
  '53100': { type: 'failed', sentence: 'has no room left on its disk. Make room on it.' },
  '53300': { type: 'busy', sentence: 'takes no more connections. Raise max_connections, or stop other programs.' },
  '55P03': { type: 'busy', sentence: 'is serving another process. The call is tried again.' },
  '57014': { type: 'busy', sentence: 'canceled the call, which is tried again.' },
  '57P01': { type: 'busy', sentence: goingOn },
  '57P02': { type: 'busy', sentence: goingOn },
  '57P03': { type: 'busy', sentence: goingOn },
  ECONNREFUSED: { type: 'busy', sentence: unreachable },
  ECONNRESET: { type: 'busy', sentence: unreachable },
  EHOSTUNREACH: { type: 'busy', sentence: unreachable },
  ENETUNREACH: { type: 'busy', sentence: unreachable },
  EPIPE: { type: 'busy', sentence: unreachable },
  ETIMEDOUT: { type: 'busy', sentence: unreachable },
  EAI_AGAIN: { type: 'busy', sentence: "can't be reached, because its name can't be looked up. Check the DNS." },
  ENOENT: { type: 'busy', sentence: unreachable },
  ENOTFOUND: { type: 'failed', sentence: "can't be reached, because its name is not known. Correct the URL." },
}

/**
 * Converts an error of `pg` to one with a fix for the operator, and keeps it as the cause. `server` is the address without
 * user and password, for example `db.example:5432/bridge`. An error that is not known is quoted. Returns a `StoreError` as it
 * is.
 */
export function toStoreError(server: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const code = codeOf(cause)
  const known = code === undefined ? undefined : meanings[code]
  if (known) return new StoreError(known.type, `PostgreSQL at ${server} ${known.sentence}`, { cause })
  const message = cause instanceof Error ? cause.message : String(cause)
  // `pg` has no codes for a connection that ends or takes too long.
  const isConnectionLost =
    code?.startsWith('08') === true || /^(Connection terminated|timeout exceeded|Client has)/.test(message)
  if (isConnectionLost) return new StoreError('busy', `PostgreSQL at ${server} ${unreachable}`, { cause })
  return new StoreError('failed', `PostgreSQL at ${server} failed: ${message.replace(/\.$/, '')}.`, { cause })
}

/** Returns the SQLSTATE of an error, or the code of the network or of TLS. Undefined if it has none. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Whether PostgreSQL itself reports the error, so that the transaction was surely not made. */
export function isRefusedByServer(error: unknown): boolean {
  // 57P01 to 57P03 also end the connection, and 08006 and its like are about the connection. XX000 may be a crash.
  return /^(?!08|57P0|XX)[0-9A-Z]{5}$/.test(codeOf(error) ?? '')
}
