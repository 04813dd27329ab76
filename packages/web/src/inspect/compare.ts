import type { Reply } from '@reply/core'
import { type Change, differenceOf, type Json } from '../state/difference.ts'

/** Returns what differs between a reply at two moments, without `raw` fields. A reply that is not there yet is null. */
export function comparedReplies(from: Reply | undefined, to: Reply | undefined): readonly Change[] {
  const same = new Map<object, Json>()
  return differenceOf(plain(from, same), plain(to, same))
}

/**
 * Returns a value as JSON without `raw` and undefined fields. The same object gives the same result, so that what both
 * replies share is not looked into.
 */
function plain(value: unknown, known: Map<object, Json>): Json {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'object' || value === null) return null
  const before = known.get(value)
  if (before !== undefined) return before
  const made = Array.isArray(value)
    ? value.map((item: unknown) => plain(item, known))
    : Object.fromEntries(
        Object.entries(value).flatMap(([key, item]: readonly [string, unknown]) =>
          key === 'raw' || item === undefined ? [] : [[key, plain(item, known)]],
        ),
      )
  known.set(value, made)
  return made
}
