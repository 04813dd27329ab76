/** A JSON value, for a difference. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** The way to a value: keys of objects and positions in arrays, from the outside. */
type Path = readonly (string | number)[]

/**
 * One change of a JSON value:
 * - `[path, '=', value]`: the value at the path is this now. An item one past an array's end is appended.
 * - `[path, '+', text]`: this is appended to the text at the path.
 * - `[path, '-']`: the key is removed from its object.
 * - `[path, '#', length]`: the array has only this many items now.
 */
export type Change =
  | readonly [Path, '=', Json]
  | readonly [Path, '+', string]
  | readonly [Path, '-']
  | readonly [Path, '#', number]

/**
 * Returns the changes that make `to` of `from`, in the order in which to apply them. Empty if they are equal. Objects that
 * both share are equal, and are not looked into: a state that grew by one delta costs the way to that delta.
 */
export function differenceOf(from: Json, to: Json): readonly Change[] {
  const changes: Change[] = []
  compare(from, to, [], changes)
  return changes
}

/** Returns the value with the changes. What they don't touch is shared with the value. Throws if they don't fit it. */
export function applyDifference(value: Json, changes: readonly Change[]): Json {
  return changes.reduce((current, change) => applyAt(current, change[0], 0, change), value)
}

function compare(from: Json, to: Json, path: Path, changes: Change[]): void {
  if (from === to) return
  if (typeof from === 'string' && typeof to === 'string') {
    // A text that grew. An empty one is replaced, which says the same.
    const hasGrown = from !== '' && to.startsWith(from)
    changes.push(hasGrown ? [path, '+', to.slice(from.length)] : [path, '=', to])
  } else if (isArray(from) && isArray(to)) {
    if (to.length < from.length) changes.push([path, '#', to.length])
    to.forEach((item, index) => {
      const before = from[index]
      if (before === undefined) changes.push([[...path, index], '=', item])
      else compare(before, item, [...path, index], changes)
    })
  } else if (isObject(from) && isObject(to)) {
    for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) changes.push([[...path, key], '-'])
    for (const [key, item] of Object.entries(to)) {
      const before = Object.hasOwn(from, key) ? from[key] : undefined
      if (before === undefined) changes.push([[...path, key], '=', item])
      else compare(before, item, [...path, key], changes)
    }
  } else {
    changes.push([path, '=', to])
  }
}

function applyAt(value: Json | undefined, path: Path, depth: number, change: Change): Json {
  const key = path[depth]
  if (key === undefined) return applyHere(value, change)
  if (isArray(value) && typeof key === 'number' && key <= value.length) {
    const items = [...value]
    items[key] = applyAt(value[key], path, depth + 1, change)
    return items
  }
  if (!isObject(value) || typeof key !== 'string') throw misfit(change)
  if (change[1] === '-' && depth === path.length - 1) {
    const { [key]: _removed, ...rest } = value
    return rest
  }
  // `fromEntries` makes a key such as `__proto__` a plain key.
  const own = Object.hasOwn(value, key) ? value[key] : undefined
  return Object.fromEntries([...Object.entries(value), [key, applyAt(own, path, depth + 1, change)]])
}

function applyHere(value: Json | undefined, change: Change): Json {
  if (change[1] === '=') return change[2]
  if (change[1] === '+' && typeof value === 'string') return value + change[2]
  if (change[1] === '#' && isArray(value)) return value.slice(0, change[2])
  throw misfit(change)
}

function misfit([path, kind]: Change): Error {
  return new Error(`The change "${kind}" at ${path.join('.')} does not fit what is there.`)
}

function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
