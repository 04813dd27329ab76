/** Whether two plain JSON values are equal; keys whose value is undefined count as absent. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index]))
  if (Array.isArray(b)) return false
  return covers(a, b) && covers(b, a)
}

/** The same but for what only repeats the wire: `raw`. */
export function sameButRaw<T extends { readonly raw: unknown }>(a: T, b: T): boolean {
  return same({ ...a, raw: undefined }, { ...b, raw: undefined })
}

function covers(a: object, b: object): boolean {
  const other: Readonly<Record<string, unknown>> = { ...b }
  return Object.entries(a).every(([key, value]) => same(value, other[key]))
}
