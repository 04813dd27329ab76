import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Creates a function that compares a text with a secret in constant time. It compares digests, because those have equal
 * lengths.
 */
export function secretComparer(secret: string): (given: string) => boolean {
  const expected = digest(secret)
  return (given) => timingSafeEqual(digest(given), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
