import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { base64url } from '../base64url.ts'

/** Every token begins with it, so that a channel can tell the sink's buttons from the host's own. */
const mark = 'r~'

/** Characters of a secret, without the mark: 96 bits. */
const secretLength = 16

/** The secret of an ask's card, with which the tokens of its buttons begin. */
export type SecretOf = (card: string) => string

/**
 * Derives the secrets of cards from a random key. Ledgers hold only hashes of them, so a process with another key can't
 * make the tokens of buttons that are already posted: it recognizes them, and gives new ones to what it posts and edits.
 */
export function cardSecrets(key: string): SecretOf {
  const known = new Map<string, string>()
  return (card) => {
    const secret =
      known.get(card) ?? `${mark}${base64url(hmac(sha256, utf8ToBytes(key), utf8ToBytes(card))).slice(0, secretLength)}`
    known.set(card, secret)
    return secret
  }
}

/** Returns the part of a token that can't be guessed. */
export function secretIn(token: string): string {
  return token.split('.', 1)[0] ?? ''
}

/** Returns the part of a token after its secret, which says what the button does. */
export function actionIn(token: string): string {
  return token.slice(secretIn(token).length)
}

/** Returns the SHA-256 of a token's secret. Ledgers keep only this. */
export function secretHash(token: string): string {
  return base64url(sha256(utf8ToBytes(secretIn(token))))
}

/** Whether a button's data is the token of an ask. All other data belongs to the host. */
export function isAskToken(data: string): boolean {
  return data.startsWith(mark)
}
