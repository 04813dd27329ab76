import { secretMark } from './run.ts'

/** Deeper values are replaced as a whole: no recursion may go to any depth. */
const maxDepth = 256

/** Applies a function to all strings of a value as JSON has it, without its keys. */
export function redactStrings(value: unknown, redact: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return secretMark
  if (Array.isArray(value)) return value.map((item) => redactStrings(item, redact, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactStrings(item, redact, depth + 1)]))
}
