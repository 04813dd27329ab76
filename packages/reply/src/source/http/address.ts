import { ReplyError } from '../../error.ts'

export interface Address {
  /** Safe to show: without credentials, query and trailing slash. */
  readonly url: string
  /** The value of the `authorization` header. Absent without a password. */
  readonly authorization?: string | undefined
  /** The fix if the server refuses the credentials. */
  readonly cure: string
}

/** The address options of `connect`. */
export interface AddressOptions {
  readonly url?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
}

/** The part of `process.env` that `toAddress` reads. */
export type Environment = Readonly<Record<string, string | undefined>>

const defaultUrl = 'http://127.0.0.1:4096'

/**
 * Returns an address that is safe to show, and its credentials: those of the options, else those in the url, else those
 * in the environment. Reads the environment only without a `url`, so that a password never goes to a server that it was
 * not set for. The url is then `OPENCODE_URL` or port 4096 of this machine. The user is `opencode` by default. Has no
 * credentials without a password. Throws `invalid` if the url is not http(s).
 */
export function toAddress(options: AddressOptions, environment: Environment = processEnvironment()): Address {
  const isPassed = options.url !== undefined
  const env = isPassed ? {} : environment
  const address = options.url ?? (env.OPENCODE_URL || defaultUrl)
  const parsed = URL.canParse(address) ? new URL(address) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    const shown = JSON.stringify(address.replace(/^.*@/, '***@'))
    const name = isPassed ? 'The url' : 'OPENCODE_URL'
    throw new ReplyError('invalid', `${name} ${shown} is not an http(s) address. Pass one like "${defaultUrl}".`)
  }
  const url = `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/+$/, '')}`
  const password =
    options.password ??
    (decodeOrKeep(parsed.password) || env.OPENCODE_PASSWORD || env.OPENCODE_SERVER_PASSWORD || undefined)
  const username =
    options.username ??
    (decodeOrKeep(parsed.username) || (!parsed.password && env.OPENCODE_SERVER_USERNAME) || 'opencode')
  const cure = isPassed
    ? "connect() needs the server's OPENCODE_SERVER_PASSWORD as password, and its OPENCODE_SERVER_USERNAME, if set, as username. For OpenCode 2, pass the password that `opencode service get password` prints"
    : "set OPENCODE_SERVER_PASSWORD, and OPENCODE_SERVER_USERNAME if the server has one, to the server's values. For OpenCode 2, set OPENCODE_PASSWORD, which `opencode service get password` prints"
  if (password === undefined) return { url, cure }
  return { url, cure, authorization: `Basic ${base64(`${username}:${password}`)}` }
}

/** Returns the error for a response of 401 or 403, with the fix. Says whether credentials were sent. */
export function unauthorizedError({ url, authorization, cure }: Address, status: number): ReplyError {
  const what = authorization === undefined ? 'requires a password' : 'rejected the credentials'
  return new ReplyError('unauthorized', `${url} ${what} (${status}): ${cure}.`)
}

/** Returns `process.env`, or an empty object in browsers. */
function processEnvironment(): Environment {
  return typeof process === 'undefined' ? {} : process.env
}

/** Returns the base64 of the text's UTF-8 bytes. `btoa` takes one character per byte. */
export function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''))
}

/**
 * Decodes percent escapes. Returns the text unchanged if they are invalid, for example a lone percent sign, because not
 * all callers escape it.
 */
export function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
