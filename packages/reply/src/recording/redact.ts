import { type Fields, isFields } from '../fields.ts'
import { redactText } from './redactor.ts'
import { secretMark } from './run.ts'

/** Keys whose values are secrets, whatever they look like. */
const secretKey =
  /(?:api[-_]?key|authorization|password|passwd|secret|(?:access|refresh|auth|id|session|bot)?[-_]?token|cookie)$/i

/** What is nested deeper is replaced as a whole: neither this nor `JSON.stringify` could go to every depth. */
const maxDepth = 256

/** A JSON text without secrets and without the name in the home directory. Text that is not JSON is treated as one string. */
export function redacted(data: string): string {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return redactText(data)
  }
  return JSON.stringify(redactValue(value))
}

/** The same value with all strings redacted, keys included. */
export function redactValue(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return secretMark
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1))
  return redactFields(value, depth)
}

export function redactFields(fields: object, depth = 0): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, item]) => [
      redactText(key),
      secretKey.test(key) ? redactSecret(item, depth + 1) : redactValue(item, depth + 1),
    ]),
  )
}

/** Each of several too, as in a list of cookies. Numbers are counts, as of tokens. */
function redactSecret(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return secretMark
  if (!Array.isArray(value)) return redactValue(value, depth)
  return value.map((item) => (typeof item === 'string' ? secretMark : redactValue(item, depth + 1)))
}

export function fieldsOf(value: unknown): Fields | undefined {
  return isFields(value) ? value : undefined
}
