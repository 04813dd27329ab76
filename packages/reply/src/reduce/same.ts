/** JSON from outside may be nested deeper than the stack is. No tool's input is so deep on purpose. */
const maxDepth = 256

/**
 * Whether two plain JSON values are equal; keys whose value is undefined count as absent. Beyond `maxDepth` levels two
 * values that are not the same object count as different: at worst something is told again.
 */
export function same(a: unknown, b: unknown, depth = 0): boolean {
  if (Object.is(a, b)) return true
  if (!isObject(a) || !isObject(b) || depth >= maxDepth) return false
  if (!Array.isArray(a)) return !Array.isArray(b) && sameFields(a, b, depth)
  return Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index], depth + 1))
}

/** The same but for what only repeats the wire: `raw`. */
export function sameButRaw<T extends { readonly raw: unknown }>(a: T, b: T): boolean {
  return a === b || sameFields(a, b, 0, ['raw'])
}

/** The same message but for its parts, which are not even read. */
export function sameHead<T extends { readonly parts: unknown; readonly raw: unknown }>(a: T, b: T): boolean {
  return a === b || sameFields(a, b, 0, ['raw', 'parts'])
}

/** By the keys as they are: lists of entries would be built for every event only to be thrown away. */
function sameFields(a: Fields, b: Fields, depth: number, except: readonly string[] = []): boolean {
  for (const key in a) if (!except.includes(key) && !same(a[key], b[key], depth + 1)) return false
  for (const key in b) if (!except.includes(key) && b[key] !== undefined && a[key] === undefined) return false
  return true
}

type Fields = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
