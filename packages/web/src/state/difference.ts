/** The way to a value: keys of objects and positions in arrays, from the outside. */
type Path = readonly (string | number)[]

/**
 * One change of a JSON value:
 * - `[path, '=', value]`: the value at the path is this now. A key that the object does not have is appended.
 * - `[path, '+', text]`: this is appended to the text at the path.
 * - `[path, '-']`: the key is removed from its object.
 * - `[path, '#', at, removed, items]`: so many items are removed from the array at this position, and these inserted.
 * - `[path, '<', keys]`: the keys of the object are in this order now.
 */
export type Change =
  | readonly [Path, '=', unknown]
  | readonly [Path, '+', string]
  | readonly [Path, '-']
  | readonly [Path, '#', number, number, readonly unknown[]]
  | readonly [Path, '<', readonly string[]]

/**
 * Returns the changes that make the JSON value `to` of `from`, in the order in which to apply them: to the order of keys, so
 * that both have the same text as JSON. Empty if they are equal. Objects that both share are equal, and are not looked into,
 * so a state that grew by one delta costs the way to that delta.
 */
export function differenceOf(from: unknown, to: unknown): readonly Change[] {
  const changes: Change[] = []
  compare(from, to, [], changes)
  return changes
}

/** Returns the value with the changes. What they don't touch is shared with the value. Throws if they don't fit it. */
export function applyDifference(value: unknown, changes: readonly Change[]): unknown {
  const own = createCopies()
  return changes.reduce((current, change) => applyAt(current, change, 0, own), value)
}

function compare(from: unknown, to: unknown, path: Path, changes: Change[]): void {
  if (from === to) return
  if (typeof from === 'string' && typeof to === 'string') {
    // A text that grew. An empty one is replaced, which says the same.
    const hasGrown = from !== '' && to.startsWith(from)
    changes.push(hasGrown ? [path, '+', to.slice(from.length)] : [path, '=', to])
  } else if (isArray(from) && isArray(to)) {
    compareItems(from, to, path, changes)
  } else if (isObject(from) && isObject(to)) {
    compareFields(from, to, path, changes)
  } else {
    changes.push([path, '=', to])
  }
}

/** Skips the items that are the same at the beginning and at the end, compares the others by position, and then the rest. */
function compareItems(from: readonly unknown[], to: readonly unknown[], path: Path, changes: Change[]): void {
  const both = Math.min(from.length, to.length)
  let start = 0
  while (start < both && from[start] === to[start]) start += 1
  let end = 0
  while (end < both - start && from[from.length - 1 - end] === to[to.length - 1 - end]) end += 1
  const paired = both - end
  for (let at = start; at < paired; at += 1) if (from[at] !== to[at]) compare(from[at], to[at], [...path, at], changes)
  if (from.length !== to.length)
    changes.push([path, '#', paired, from.length - end - paired, to.slice(paired, to.length - end)])
}

function compareFields(from: Fields, to: Fields, path: Path, changes: Change[]): void {
  const [before, after] = [Object.keys(from), Object.keys(to)]
  const kept = before.filter((key) => Object.hasOwn(to, key))
  if (kept.length < before.length)
    for (const key of before) if (!Object.hasOwn(to, key)) changes.push([[...path, key], '-'])
  const added: string[] = []
  for (const key of after) {
    if (!Object.hasOwn(from, key)) {
      changes.push([[...path, key], '=', to[key]])
      added.push(key)
    } else if (from[key] !== to[key]) compare(from[key], to[key], [...path, key], changes)
  }
  const order = [...kept, ...added]
  if (order.some((key, at) => key !== after[at])) changes.push([path, '<', after])
}

function applyAt(value: unknown, change: Change, depth: number, own: Copies): unknown {
  const [path, kind] = change
  const key = path[depth]
  if (key === undefined) return applyHere(value, change, own)
  if (isArray(value) && typeof key === 'number' && key < value.length) {
    const items = own.items(value)
    items[key] = applyAt(value[key], change, depth + 1, own)
    return items
  }
  if (!isObject(value) || typeof key !== 'string') throw misfit(change)
  const isLast = depth === path.length - 1
  const isThere = Object.hasOwn(value, key)
  if (!isThere && !(isLast && kind === '=')) throw misfit(change)
  const fields = own.fields(value)
  if (isLast && kind === '-') Reflect.deleteProperty(fields, key)
  else setField(fields, key, applyAt(isThere ? value[key] : undefined, change, depth + 1, own))
  return fields
}

function applyHere(value: unknown, change: Change, own: Copies): unknown {
  const [, kind, given] = change
  if (kind === '=') return given
  if (kind === '+' && typeof value === 'string') return value + given
  if (kind === '#' && isArray(value)) {
    const [, , at, removed, added] = change
    if (at + removed > value.length) throw misfit(change)
    return own.withItems(value, at, removed, added)
  }
  if (kind === '<' && isObject(value)) {
    if (given.length !== Object.keys(value).length || !given.every((key) => Object.hasOwn(value, key)))
      throw misfit(change)
    return Object.fromEntries(given.map((key) => [key, value[key]]))
  }
  throw misfit(change)
}

type Fields = { readonly [key: string]: unknown }

/** The arrays and objects that one call has copied. They are copied once, however many changes they get. */
interface Copies {
  items(value: readonly unknown[]): unknown[]
  fields(value: Fields): Record<string, unknown>
  withItems(value: readonly unknown[], at: number, removed: number, added: readonly unknown[]): unknown[]
}

function createCopies(): Copies {
  const arrays = new Map<readonly unknown[], unknown[]>()
  const objects = new Map<Fields, Record<string, unknown>>()
  return {
    items: (value) => arrays.get(value) ?? keep([...value]),
    fields: (value) => {
      const known = objects.get(value)
      if (known) return known
      const copy = { ...value }
      objects.set(copy, copy)
      return copy
    },
    withItems: (value, at, removed, added) => keep([...value.slice(0, at), ...added, ...value.slice(at + removed)]),
  }

  function keep(copy: unknown[]): unknown[] {
    arrays.set(copy, copy)
    return copy
  }
}

/** Sets a field. An assignment to `__proto__` would set the object's prototype. */
function setField(fields: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(fields, key, { value, writable: true, enumerable: true, configurable: true })
  else fields[key] = value
}

function misfit([path, kind]: Change): Error {
  return new Error(`The change "${kind}" at ${path.join('.')} does not fit what is there.`)
}

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
