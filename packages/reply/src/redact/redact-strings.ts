import { secretMark } from './character-run.ts'

/** Deeper values are replaced as a whole, so that the recursion is bounded. */
const maxDepth = 256

/**
 * Applies `redact` to every string of a JSON value, but not to its keys. Returns a copy. Values nested deeper than
 * `maxDepth` become `[redacted]`.
 */
export function redactStrings(value: unknown, redact: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return secretMark
  if (Array.isArray(value)) return value.map((item) => redactStrings(item, redact, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactStrings(item, redact, depth + 1)]))
}
