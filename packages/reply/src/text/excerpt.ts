import { redactJson } from '../redact/redact-fields.ts'
import { secretFieldNames } from '../redact/secret-name.ts'

/** A key that names a secret, and the value after it. */
const keyed = new RegExp(`((?:${secretFieldNames.join('|')})["']?\\s*[:=]\\s*["']?)[^"'&,}]+`, 'gi')
/** The user and password of a URL. */
const userInfo = /\/\/[^\s/@]+@/g

/**
 * The beginning of a text, at most 120 UTF-16 units, quoted and redacted, for an error about unreadable input. Ends in
 * `…` if it was cut.
 */
export function excerptOf(text: string): string {
  const start = redactJson(text.slice(0, 400)).replace(userInfo, '//…@').replace(keyed, '$1…')
  return JSON.stringify(start.length > 120 ? `${start.slice(0, 120)}…` : start)
}

/**
 * Describes a value's type without its content: `null`, `a list`, an object by its first five keys, and any other by
 * `typeof`.
 */
export function describeType(value: unknown): string {
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
  if (Array.isArray(value)) return 'a list'
  const keys = Object.keys(value).slice(0, 5)
  return keys.length === 0 ? 'an object without keys' : `an object with ${keys.join(', ')}`
}
