/** Returns a 53-bit hash that distinguishes texts. Not for security. */
export function hashOf(text: string): string {
  return hashOfState(hashedTo(text.length, text, emptyHash))
}

/** The state of hashing a text up to a position. */
export interface HashState {
  readonly at: number
  readonly a: number
  readonly b: number
}

export const emptyHash: HashState = { at: 0, a: 0xdeadbeef, b: 0x41c6ce57 }

/**
 * Continues hashing a text up to `end`, which must not be before the state's position. So only what a growing text gains has
 * to be hashed.
 */
export function hashedTo(end: number, text: string, state: HashState): HashState {
  let { at, a, b } = state
  for (; at < end; at++) {
    const unit = text.charCodeAt(at)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  return { at, a, b }
}

/** Returns the hash of the text so far, equal to `hashOf` of it. */
export function hashOfState({ a, b }: HashState): string {
  const low = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  const high = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  return (4294967296 * (2097151 & high) + (low >>> 0)).toString(36)
}
