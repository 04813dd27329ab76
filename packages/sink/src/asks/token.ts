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
 * Returns a function that derives the secret of a card from a random key, always the same for the same card. Ledgers hold
 * only hashes of secrets, so a process with another key can't make the tokens of buttons that are already posted: it
 * recognizes them, and gives new ones to what it posts and edits.
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

/** Returns the part of a token that can't be guessed: all before the first dot, or the whole text without one. */
export function secretIn(token: string): string {
  return token.split('.', 1)[0] ?? ''
}

/** Returns the rest of a token from the dot after its secret on, which says what the button does. Empty without a dot. */
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
