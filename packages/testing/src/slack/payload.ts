import type { Fields } from '../fields.ts'
import { jsonIn, textIn } from '../platform/payload.ts'
import { Refusal } from './refusal.ts'

/** A text that must not be absent or empty. Throws a `Refusal`. */
export function requiredText(payload: Fields, name: string): string {
  const value = textIn(payload, name)
  if (value === undefined) throw new Refusal('invalid_arguments', `[ERROR] missing required field: ${name}`)
  return value
}

/** A list, or its JSON. Undefined if absent or empty. Throws a `Refusal` with this error for anything else. */
export function optionalList(payload: Fields, name: string, error: string): readonly unknown[] | undefined {
  if (payload[name] === undefined || payload[name] === '') return undefined
  const list = jsonIn(payload, name)
  if (!Array.isArray(list)) throw new Refusal(error)
  return list
}
