/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object but not an array. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value if it is a JSON object. Undefined otherwise. */
export function fieldsOf(value: unknown): Fields | undefined {
  return isFields(value) ? value : undefined
}

/** The value if it is a string, else `''`. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** External JSON may be nested deeper than the call stack allows. Real tool input never is. */
const maxDepth = 256

/**
 * Whether two plain JSON values are equal. Keys with undefined values count as absent. Beyond `maxDepth` levels, two
 * different objects count as unequal: at worst a change is reported twice.
 */
export function same(a: unknown, b: unknown, depth = 0): boolean {
  if (Object.is(a, b)) return true
  if (!isObjectOrArray(a) || !isObjectOrArray(b) || depth >= maxDepth) return false
  if (!Array.isArray(a)) return !Array.isArray(b) && sameFields(a, b, depth)
  return Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index], depth + 1))
}

/** Whether two values are equal, ignoring `raw`, which only repeats the wire event. */
export function sameButRaw<T extends { readonly raw: unknown }>(a: T, b: T): boolean {
  return a === b || sameFields(a, b, 0, ['raw'])
}

/** Whether two messages are equal, ignoring `raw` and `parts`. Never reads `parts`, which may be a costly getter. */
export function sameHead<T extends { readonly parts: unknown; readonly raw: unknown }>(a: T, b: T): boolean {
  return a === b || sameFields(a, b, 0, ['raw', 'parts'])
}

/**
 * Whether all fields but those in `except` are equal. Uses `for … in`, because `Object.entries` would allocate arrays
 * on every event.
 */
function sameFields(a: Fields, b: Fields, depth: number, except: readonly string[] = []): boolean {
  for (const key in a) if (!except.includes(key) && !same(a[key], b[key], depth + 1)) return false
  for (const key in b) if (!except.includes(key) && b[key] !== undefined && a[key] === undefined) return false
  return true
}

function isObjectOrArray(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
