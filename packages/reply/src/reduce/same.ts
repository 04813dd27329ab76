/** Whether two plain JSON values are equal; keys whose value is undefined count as absent. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (!isObject(a) || !isObject(b)) return false
  if (!Array.isArray(a)) return !Array.isArray(b) && sameFields(a, b)
  return Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index]))
}

/** The same but for what only repeats the wire: `raw`. */
export function sameButRaw<T extends { readonly raw: unknown }>(a: T, b: T): boolean {
  return a === b || sameFields(a, b, 'raw')
}

/** By the keys as they are: lists of entries would be built for every event only to be thrown away. */
function sameFields(a: Fields, b: Fields, except?: string): boolean {
  for (const key in a) if (key !== except && !same(a[key], b[key])) return false
  for (const key in b) if (key !== except && b[key] !== undefined && a[key] === undefined) return false
  return true
}

type Fields = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
