export interface SecretRule {
  /** Visible characters. Default 1. */
  readonly minLength?: number | undefined
  /** The whole secret as the vendor takes it, and the same in words. */
  readonly form?: { readonly pattern: RegExp; readonly words: string } | undefined
}

/** White space, control characters and characters that draw nothing, such as U+200B. */
const invisible = /[\s\p{C}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Says why a secret can't be used, in one sentence that does not repeat it. Undefined if it can. A blank secret never can:
 * an HMAC with an empty key and a header that equals "" are things that every stranger can send.
 */
export function secretFault(secret: string | undefined, { minLength = 1, form }: SecretRule = {}): string | undefined {
  if (secret === undefined) return 'It is missing.'
  const visible = secret.replace(invisible, '')
  if (visible === '') return 'It is blank.'
  if (secret.trim() !== secret) return 'It begins or ends with white space: trim it.'
  if (visible.length < minLength) return `It has ${visible.length} characters; it needs at least ${minLength}.`
  if (form && !form.pattern.test(secret)) return `It is not ${form.words}.`
  return undefined
}

/** The same for the token of a vendor's client, where the client shows it. Undefined where it shows none, as not all of them do. */
export function tokenFault(client: object): string | undefined {
  const token = 'token' in client ? client.token : undefined
  return typeof token === 'string' ? secretFault(token) : undefined
}
