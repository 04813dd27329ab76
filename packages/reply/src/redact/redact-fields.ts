import type { Fields } from '../fields.ts'
import { secretMark } from './character-run.ts'
import { redactText } from './redactor.ts'
import { isSecretField } from './secret-name.ts'

/** Deeper values are replaced as a whole: neither this function nor `JSON.stringify` can recurse to any depth. */
const maxDepth = 256

/** Removes secrets and the home directory's name from a JSON text. Text that isn't JSON is treated as one string. */
export function redactJson(data: string): string {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return redactText(data)
  }
  return JSON.stringify(redactValue(value))
}

/**
 * Redacts all strings of a value, keys and the values of secret fields included. Values nested deeper than `maxDepth`
 * are replaced as a whole.
 */
export function redactValue(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return secretMark
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1))
  return redactFields(value, depth)
}

/** Redacts all fields, keys included. The text of a field with a secret's name is replaced as a whole. */
export function redactFields(fields: object, depth = 0): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, item]) => [
      redactText(key),
      isSecretField(key) ? redactSecret(item, depth + 1) : redactValue(item, depth + 1),
    ]),
  )
}

/**
 * Redacts a text, or each text of a list, such as cookies, as a whole. Keeps numbers, because they are counts, such as
 * of tokens, and redacts the texts in any other value.
 */
function redactSecret(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return secretMark
  if (!Array.isArray(value)) return redactValue(value, depth)
  return value.map((item) => (typeof item === 'string' ? secretMark : redactValue(item, depth + 1)))
}
