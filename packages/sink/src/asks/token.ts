import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { base64url } from '@reply/core/internal'

/** Every token begins with it, so that a channel can tell the sink's buttons from the host's own. */
const mark = 'r~'

/** What a sealed token begins with. No secret does, because it has no other tilde. */
const sealedMark = `${mark}~`

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

/** Returns the SHA-256 of a token's secret. Ledgers keep only this. The hash in a sealed token is returned as it is. */
export function secretHash(token: string): string {
  const secret = secretIn(token)
  return isSealed(token) ? secret.slice(sealedMark.length) : base64url(sha256(utf8ToBytes(secret)))
}

/**
 * Returns a token with the hash of its secret in place of the secret, for a press that one process stores for another one: it
 * answers like the token, and the store learns no more than a ledger tells. Returns data of other buttons as it is.
 *
 * No platform may deliver a sealed token, because a person who reads a ledger could make one. `createInboundReceiver` drops it.
 */
export function sealToken(token: string): string {
  return isAskToken(token) && !isSealed(token) ? `${sealedMark}${secretHash(token)}${actionIn(token)}` : token
}

/** Returns a token that was made from the sealed one of a press, such as that of a form, with the secret of the pressed one. */
export function unsealToken(token: string, pressed: string): string {
  return isSealed(token) ? `${secretIn(pressed)}${actionIn(token)}` : token
}

/** Whether a token has the hash of a secret in place of the secret. */
export function isSealed(token: string): boolean {
  return token.startsWith(sealedMark)
}

/** Whether a button's data is the token of an ask. All other data belongs to the host. */
export function isAskToken(data: string): boolean {
  return data.startsWith(mark)
}
