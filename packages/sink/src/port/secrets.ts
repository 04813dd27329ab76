import { base64url, redactTokens } from '@reply/core/internal'

/** The shortest run of a secret's characters that is removed from a text. Shorter secrets are removed as a whole. */
const shortestPart = 16
/** Shorter secrets are not removed, because errors would lose ordinary words. */
const shortestSecret = 8
/** How many temporary secrets are remembered, for example those of interactions, which Discord accepts for 15 minutes. */
const mostTemporary = 200

const permanent = new Set<string>()
const temporary = new Set<string>()

/**
 * Keeps a secret out of all errors of this process, also in part. `isTemporary`: it is one of many that expire soon,
 * and only the newest 200 of them are remembered. Does nothing for fewer than 8 characters.
 */
export function keepSecret(secret: string, { isTemporary = false }: { readonly isTemporary?: boolean } = {}): void {
  if (secret.length < shortestSecret) return
  const kept = isTemporary ? temporary : permanent
  kept.delete(secret)
  kept.add(secret)
  const [oldest] = temporary.size > mostTemporary ? temporary : []
  if (oldest !== undefined) temporary.delete(oldest)
}

/** Returns the text with "[redacted]" in place of secrets that were registered with `keepSecret`. */
export function withoutSecrets(text: string): string {
  const forms = [
    ...[...permanent].flatMap((secret) => [...encodedForms(secret), ...base64Forms(secret)]),
    ...[...temporary].flatMap(encodedForms),
  ]
  const spans = [...new Set(forms)]
    .flatMap((form) => commonRuns(form, text))
    .sort((one, other) => one.start - other.start)
  let out = ''
  let copied = 0
  for (const { start, end } of spans) {
    if (start >= copied) out += `${text.slice(copied, start)}[redacted]`
    copied = Math.max(copied, end)
  }
  return out + text.slice(copied)
}

/** Returns the secret as it is, and as URLs, JSON and HTML write it. */
function encodedForms(secret: string): readonly string[] {
  const inURL = encodeURIComponent(secret)
  return [
    secret,
    inURL,
    inURL.replace(/%../g, (byte) => byte.toLowerCase()),
    JSON.stringify(secret).slice(1, -1),
    secret.replace(/[&<>"']/g, (sign) => htmlEscapes[sign] ?? sign),
  ]
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Returns the part that all Base64 texts with the secret have in common, for example that of `user:password`. There are
 * three, depending on the length of the text before it.
 */
function base64Forms(secret: string): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = new TextEncoder().encode(`${'0'.repeat(before)}${secret}`)
    const whole = base64url(bytes.subarray(0, bytes.length - (bytes.length % 3))).slice(Math.ceil((before * 4) / 3))
    return [whole, whole.replaceAll('-', '+').replaceAll('_', '/')]
  })
}

interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Returns the runs of the text that also occur in the secret, of at least `shortestPart` characters or of the whole of a
 * shorter secret. Each contains a whole block of half the shortest run, so only blocks are searched for.
 */
function commonRuns(secret: string, text: string): readonly Span[] {
  const minLength = Math.min(shortestPart, secret.length)
  const blockLength = Math.floor(minLength / 2)
  const parts: Span[] = []
  for (let block = 0; block + blockLength <= secret.length; block += blockLength) {
    const sought = secret.slice(block, block + blockLength)
    for (let at = text.indexOf(sought); at !== -1; ) {
      let before = 0
      while (before < block && text[at - before - 1] === secret[block - before - 1]) before += 1
      let after = blockLength
      while (block + after < secret.length && text[at + after] === secret[block + after]) after += 1
      if (before + after >= minLength) parts.push({ start: at - before, end: at + after })
      at = text.indexOf(sought, at + after)
    }
  }
  return parts
}

/**
 * Returns a text of a server or a library without secrets and without anything that looks like a token. Tokens are
 * removed first, because the rest of one that begins like a secret no longer looks like a token.
 */
export function quotable(text: string): string {
  return withoutSecrets(redactTokens(text))
}

/** An error whose message and cause contain no registered secrets. The base of this project's own errors. */
export class SafeError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(withoutSecrets(message), options && 'cause' in options ? { cause: safeCause(options.cause) } : undefined)
  }
}

/** Deeper fields of a cause are left out. */
const maxDepth = 8

/** Returns an error of any origin without registered secrets. The same object if it has none. */
export function safeError(error: Error): Error {
  const safe = cleanCopy(error, { clean: withoutSecrets, above: new Set(), depth: 0 })
  return safe instanceof Error ? safe : error
}

/**
 * Returns a cause without secrets, for an error that may be printed with all its fields. The same object if it has
 * none. Otherwise a copy with the same prototype, without objects of other classes, for example requests, which show
 * headers.
 */
function safeCause(cause: unknown): unknown {
  return cleanCopy(cause, { clean: quotable, above: new Set(), depth: 0 })
}

interface Copying {
  readonly clean: (text: string) => string
  /** The objects that contain the value, to detect cycles. */
  readonly above: ReadonlySet<object>
  readonly depth: number
}

/**
 * Returns a copy of an error's field without secrets: `clean` is applied to all its texts and names. The same value if that
 * changes nothing. Undefined for functions, cycles, and values that are too deep or of other classes.
 */
function cleanCopy(value: unknown, { clean, above, depth }: Copying): unknown {
  if (typeof value === 'string') return clean(value)
  if (typeof value === 'function') return undefined
  if (typeof value !== 'object' || value === null || value instanceof SafeError) return value
  if (depth > maxDepth || above.has(value)) return undefined
  const inner: Copying = { clean, above: new Set([...above, value]), depth: depth + 1 }
  if (Array.isArray(value)) {
    const items = value.map((item) => cleanCopy(item, inner))
    return items.every((item, at) => item === value[at]) ? value : items
  }
  const prototype: object | null = Object.getPrototypeOf(value)
  const isError = value instanceof Error
  if (!isError && prototype !== Object.prototype && prototype !== null) return undefined
  const fields = Object.entries(Object.getOwnPropertyDescriptors(value)).map(([name, field]) => {
    const isStack = isError && name === 'stack'
    const before: unknown = isStack ? value.stack : field.value
    const after = isStack ? cleanStack(value, clean) : cleanCopy(before, inner)
    // A getter may return anything, so it is left out.
    const isSame = after === before && clean(name) === name && (isStack || field.get === undefined)
    const { enumerable = false } = field
    return { isSame, name: clean(name), field: { value: after, enumerable, writable: true, configurable: true } }
  })
  const isPlain = Object.getOwnPropertySymbols(value).length === 0
  if (isPlain && fields.every(({ isSame }) => isSame)) return value
  return Object.create(prototype, Object.fromEntries(fields.map(({ name, field }) => [name, field])))
}

/** Cleans the stack, which repeats the message. Its paths stay. */
function cleanStack({ message, stack = '' }: Error, clean: Copying['clean']): string {
  return withoutSecrets(message === '' ? stack : stack.replaceAll(message, () => clean(message)))
}

/** The platform's requirements for a secret. */
interface SecretRule {
  /** Number of visible characters. Default 1. */
  readonly minLength?: number | undefined
  /** The format that the vendor requires, and its description in a sentence: "It is not …". */
  readonly form?: { readonly pattern: RegExp; readonly description: string } | undefined
}

/** White space, control characters and invisible characters, such as U+200B. */
const invisible = /[\s\p{C}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Returns why a secret can't be used, in one sentence that does not repeat it. Undefined if it can, and then it is
 * registered with `keepSecret`. A blank secret is always refused, because any stranger can compute an HMAC with an
 * empty key, or send a header that equals "".
 */
export function secretFault(secret: string | undefined, { minLength = 1, form }: SecretRule = {}): string | undefined {
  if (secret === undefined) return 'It is missing.'
  const visible = secret.replace(invisible, '')
  if (visible === '') return 'It is blank.'
  if (secret.trim() !== secret) return 'It begins or ends with white space: trim it.'
  if (visible.length < minLength) return `It has ${visible.length} characters; it needs at least ${minLength}.`
  if (form && !form.pattern.test(secret)) return `It is not ${form.description}.`
  keepSecret(secret)
  return undefined
}

/**
 * Returns the same as `secretFault` for the token of a vendor's client. Undefined if the client does not expose its
 * token.
 */
export function tokenFault(client: object): string | undefined {
  const token = 'token' in client ? client.token : undefined
  return typeof token === 'string' ? secretFault(token) : undefined
}
