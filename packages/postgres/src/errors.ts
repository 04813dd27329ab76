import { StoreError } from '@reply/bridge'

/** What an error of PostgreSQL or of the connection means. `busy`: nothing was written, and a retry may succeed. */
interface Meaning {
  readonly type: 'busy' | 'failed'
  /** The end of a sentence that begins with the server. */
  readonly sentence: string
}

const unreachable = "can't be reached. Start it, or correct the address."
const unknownAuthority =
  "has a certificate of an authority that is not known here. Name the authority's certificate in the URL: sslrootcert=/path/ca.pem."
const ofAnotherProgram = 'has tables of another program in this schema. Name another one.'
const incomplete =
  'lacks tables or functions of the state, which were dropped or not restored. Restore a backup, or name another schema.'
/** The SQLSTATE with which our functions refuse a transaction. */
export const wrongIsolation = 'RISOL'
/** The SQLSTATE of a write to a standby, or in a transaction that only reads. */
const readOnly = '25006'
const goingOn = 'is starting or stopping. The call is tried again.'

/** By SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const meanings: Readonly<Record<string, Meaning>> = {
  [readOnly]: {
    type: 'busy',
    sentence:
      'is read-only. If it is a standby, name the primary in the URL, else turn default_transaction_read_only off.',
  },
  '28000': { type: 'failed', sentence: 'refuses the user. Check the URL and pg_hba.conf.' },
  '28P01': { type: 'failed', sentence: 'refuses the user or the password. Correct them in the URL.' },
  '3D000': { type: 'failed', sentence: 'has no such database. Create it, or correct its name in the URL.' },
  '3F000': { type: 'failed', sentence: incomplete },
  '40001': { type: 'busy', sentence: 'served another process first. The call is tried again.' },
  '40P01': { type: 'busy', sentence: 'served another process first. The call is tried again.' },
  '42501': {
    type: 'failed',
    sentence: 'gives this user too few rights. Grant it CREATE on the database, or make it the owner of the schema.',
  },
  // A column, a type, a function or a table of theirs.
  '42703': { type: 'failed', sentence: ofAnotherProgram },
  '42710': { type: 'failed', sentence: ofAnotherProgram },
  '42723': { type: 'failed', sentence: ofAnotherProgram },
  // A function or a table of ours. A schema that is missing is 3F000.
  '42883': { type: 'failed', sentence: incomplete },
  '42P01': { type: 'failed', sentence: incomplete },
  '42P07': { type: 'failed', sentence: ofAnotherProgram },
  // Renewals often still fit, so a bridge that goes on must leave what arrives to later deliveries.
  '53100': { type: 'busy', sentence: 'has no room left on its disk. Make room on it.' },
  '53200': { type: 'busy', sentence: 'has too little memory for the call, which is tried again.' },
  '53300': {
    type: 'busy',
    sentence:
      'takes no more connections. Raise max_connections or the CONNECTION LIMIT of the user, or stop other programs.',
  },
  '54000': {
    type: 'failed',
    sentence: 'refuses a value that is too long, or a key or id of more than 2,600 bytes.',
  },
  '55P03': { type: 'busy', sentence: 'is serving another process. The call is tried again.' },
  '57014': { type: 'busy', sentence: 'canceled the call, which is tried again.' },
  '57P01': { type: 'busy', sentence: goingOn },
  '57P02': { type: 'busy', sentence: goingOn },
  '57P03': { type: 'busy', sentence: goingOn },
  [wrongIsolation]: {
    type: 'failed',
    sentence: "isolates this user's transactions too far. Set its default_transaction_isolation to 'read committed'.",
  },
  CERT_HAS_EXPIRED: { type: 'failed', sentence: 'has a certificate that has expired. Renew it.' },
  DEPTH_ZERO_SELF_SIGNED_CERT: { type: 'failed', sentence: unknownAuthority },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    type: 'failed',
    sentence: 'has a certificate for another name. Write that name in the URL.',
  },
  SELF_SIGNED_CERT_IN_CHAIN: { type: 'failed', sentence: unknownAuthority },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: { type: 'failed', sentence: unknownAuthority },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { type: 'failed', sentence: unknownAuthority },
  ECONNREFUSED: { type: 'busy', sentence: unreachable },
  ECONNRESET: { type: 'busy', sentence: unreachable },
  EHOSTUNREACH: { type: 'busy', sentence: unreachable },
  ENETUNREACH: { type: 'busy', sentence: unreachable },
  EPIPE: { type: 'busy', sentence: unreachable },
  ETIMEDOUT: { type: 'busy', sentence: unreachable },
  EAI_AGAIN: { type: 'busy', sentence: "can't be reached, because its name can't be looked up. Check the DNS." },
  ENOENT: { type: 'busy', sentence: unreachable },
  // The name of a container is not known while it is stopped.
  ENOTFOUND: {
    type: 'busy',
    sentence: "can't be reached, because its name is not known. Start it, or correct the URL.",
  },
}

const lost: Meaning = { type: 'busy', sentence: unreachable }

/** The messages of `pg` that have no code. */
const uncoded: readonly (readonly [RegExp, Meaning])[] = [
  [/^(Connection terminated|timeout exceeded|Client has)/, lost],
  [
    /^no answer within/,
    {
      type: 'busy',
      sentence: 'gave no answer in time. Look whether it runs, and whether it waits for a synchronous standby.',
    },
  ],
  [/^SASL: .*password must be/, { type: 'failed', sentence: 'asks for a password. Write it in the URL.' }],
  [
    /does not support SSL/,
    { type: 'failed', sentence: 'has no TLS. Turn ssl on in postgresql.conf, or write sslmode=disable in the URL.' },
  ],
  [/after calling end on the pool/, { type: 'failed', sentence: "can't be used, because the pool was ended." }],
]

/** Returns the error of calls after `close`, and of commits whose outcome was not known then. */
export function closedError(): StoreError {
  return new StoreError('closed', 'The store is closed. Open it again to use it.')
}

/** Returns the error of a schema with tables that are not ours. */
export function otherProgramError(server: string): StoreError {
  return new StoreError('failed', `PostgreSQL at ${server} ${ofAnotherProgram}`)
}

/** Returns the error of a state that lacks a part. */
export function incompleteError(server: string): StoreError {
  return new StoreError('failed', `PostgreSQL at ${server} ${incomplete}`)
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
  const [, meaning] = uncoded.find(([pattern]) => pattern.test(message)) ?? []
  const isLost = code?.startsWith('08') === true
  const { type, sentence } = meaning ?? (isLost ? lost : { type: 'failed', sentence: quotedIn(message) })
  return new StoreError(type, `PostgreSQL at ${server} ${sentence}`, { cause })
}

/** Returns the end of a sentence about an error that is not known. */
function quotedIn(message: string): string {
  return `failed: ${message.replace(/\.$/, '')}.`
}

/** Returns the SQLSTATE of an error, or the code of the network or of TLS. Undefined if it has none. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/**
 * Whether only a new connection can do better: this one leads to a standby, or its settings, which are from its start, don't fit.
 * After a failover the address may lead to the new primary, while the old one goes on as a standby.
 */
export function isAboutSession(error: unknown): boolean {
  const code = codeOf(error)
  return code === readOnly || code === wrongIsolation
}

/** Whether PostgreSQL itself reports the error, so that the transaction was surely not made. */
export function isRefusedByServer(error: unknown): boolean {
  if (!(error instanceof Error && 'severity' in error)) return false
  const code = codeOf(error) ?? ''
  // 57P01 to 57P05 also end the connection, and 08006 and its like are about it. A full or broken disk and a crash also end the
  // server, with a severity above ERROR, which is in the server's language.
  return !/^(08|57P0)/.test(code) && (error.severity === 'ERROR' || !/^(53|58|XX)/.test(code))
}
