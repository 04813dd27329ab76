import { ReplyError } from '../error.ts'

export interface Address {
  /** Without credentials, query or trailing slash: fit to be shown. */
  readonly url: string
  /** The value of the `authorization` header. */
  readonly authorization?: string | undefined
}

/** Splits what the caller gave into an address to show and a credential to keep. Throws `invalid` for what is no http URL. */
export function toAddress(options: {
  readonly url: string
  readonly username?: string | undefined
  readonly password?: string | undefined
}): Address {
  const parsed = URL.canParse(options.url) ? new URL(options.url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    const shown = JSON.stringify(options.url.replace(/^.*@/, '***@'))
    throw new ReplyError('invalid', `The url ${shown} is no http(s) address; give one like "http://127.0.0.1:4096".`)
  }
  const password = options.password ?? (parsed.password === '' ? undefined : decoded(parsed.password))
  const username = options.username ?? (parsed.username === '' ? 'opencode' : decoded(parsed.username))
  const url = `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/+$/, '')}`
  if (password === undefined) return { url }
  return { url, authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}

/** A lone percent sign is one: not everybody escapes it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
