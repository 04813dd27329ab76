/** Whether any text in a JSON value has half of a surrogate pair, which can't be encoded in UTF-8. */
export function hasHalfPair(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasHalfPair)
}
