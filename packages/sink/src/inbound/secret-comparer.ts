import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Makes the comparison of what a stranger sent with a secret. It takes the same time for every text, so that timing
 * reveals nothing of the secret: it compares digests, which have equal length.
 */
export function secretComparer(secret: string): (given: string) => boolean {
  const expected = digest(secret)
  return (given) => timingSafeEqual(digest(given), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
