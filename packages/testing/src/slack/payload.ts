import type { Fields } from '../fields.ts'
import { jsonIn, textIn } from '../platform/payload.ts'
import { Refusal } from './refusal.ts'

/** Returns a text, or a number's digits. Throws a `Refusal` if it is absent, empty or anything else. */
export function requiredText(payload: Fields, name: string): string {
  const value = textIn(payload, name)
  if (value === undefined) throw new Refusal('invalid_arguments', `[ERROR] missing required field: ${name}`)
  return value
}

/**
 * Returns a list, or the list in a JSON text. Undefined if absent or an empty text. Throws a `Refusal` with this
 * error for anything else.
 */
export function optionalList(payload: Fields, name: string, error: string): readonly unknown[] | undefined {
  if (payload[name] === undefined || payload[name] === '') return undefined
  const list = jsonIn(payload, name)
  if (!Array.isArray(list)) throw new Refusal(error)
  return list
}
