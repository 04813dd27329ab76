import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Creates a function that compares a text with a secret in constant time. It compares digests, because those have equal
 * lengths.
 */
export function secretComparer(secret: string): (text: string) => boolean {
  const expected = sha256Of(secret)
  return (text) => timingSafeEqual(sha256Of(text), expected)
}

/** Returns the SHA-256 of a text in UTF-8. */
function sha256Of(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
