import { keepSecret } from '../port/secrets.ts'

/** What a platform demands of a secret. */
export interface SecretRule {
  /** Number of visible characters. Default 1. */
  readonly minLength?: number | undefined
  /** The format that the vendor requires, and its description in a sentence: "It is not …". */
  readonly form?: { readonly pattern: RegExp; readonly description: string } | undefined
}

/** White space, control characters and invisible characters, such as U+200B. */
const invisible = /[\s\p{C}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Says why a secret can't be used, in one sentence that does not repeat it. Undefined if it can. A blank secret is
 * always refused: any stranger can compute an HMAC with an empty key, or send a header that equals "". From then on,
 * errors of this process leave it out.
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

/** The same for the token of a vendor's client. Undefined if the client does not expose its token, as some don't. */
export function tokenFault(client: object): string | undefined {
  const token = 'token' in client ? client.token : undefined
  return typeof token === 'string' ? secretFault(token) : undefined
}
