import * as z from 'zod'

const operationSchema = z.looseObject({
  op: z.string(),
  path: z.string(),
  from: z.string().optional(),
  value: z.unknown().optional(),
})

/**
 * Applies a JSON Patch (RFC 6902) to a value, and returns the changed one. It shares all that didn't change with the value, which
 * stays as it is: a patch of a large value is usually small. Undefined if an operation doesn't fit: the value is then not known any
 * more.
 */
export function patched(value: unknown, patch: readonly unknown[]): { readonly value: unknown } | undefined {
  let next: Found = { value }
  for (const raw of patch) {
    const { data } = operationSchema.safeParse(raw)
    const changed = data && applyOperation(next.value, data)
    if (!changed) return undefined
    next = changed
  }
  return next
}

/** Whether a value has at most so many values in it, those that are shared counted wherever they are. */
export function hasAtMost(limit: number, value: unknown): boolean {
  const waiting = [value]
  for (let count = 1; waiting.length > 0; ) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    for (const each of Object.values(next)) {
      count += 1
      if (count > limit) return false
      waiting.push(each)
    }
  }
  return true
}

type Operation = z.infer<typeof operationSchema>

/** A value, in an object because it can be undefined. */
interface Found {
  readonly value: unknown
}

/** Returns the value after one operation, or undefined if it doesn't fit. */
function applyOperation(root: unknown, { op, path, from, value }: Operation): Found | undefined {
  switch (op) {
    case 'add':
    case 'replace':
      return changedAt(root, pathOf(path), { value }, op === 'add')
    case 'remove':
      return changedAt(root, pathOf(path), undefined, false)
    case 'move':
    case 'copy': {
      const found = from === undefined ? undefined : valueAt(root, pathOf(from))
      if (!found || from === undefined) return undefined
      const rest = op === 'move' ? changedAt(root, pathOf(from), undefined, false) : { value: root }
      return rest && changedAt(rest.value, pathOf(path), found, true)
    }
    case 'test':
      return { value: root }
    default:
      return undefined
  }
}

/** Splits a JSON Pointer. */
function pathOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function valueAt(root: unknown, path: readonly string[]): Found | undefined {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Reflect.get(value, key)
  }
  return { value }
}

/** Returns a value in which another one is at a path, or none. Copies only what leads there. Undefined if the path doesn't fit. */
function changedAt(
  root: unknown,
  path: readonly string[],
  given: Found | undefined,
  isAdded: boolean,
): Found | undefined {
  const holders: object[] = []
  for (const [at, key] of path.entries()) {
    const holder = at === 0 ? root : valueAt(holders[at - 1], [path[at - 1] ?? ''])?.value
    if (typeof holder !== 'object' || holder === null || key === '__proto__') return undefined
    holders.push(holder)
  }
  let changed: Found | undefined = given ?? { value: undefined }
  for (let at = path.length - 1; at >= 0 && changed; at -= 1) {
    const isLast = at === path.length - 1
    changed = withKey(holders[at] ?? {}, path[at] ?? '', isLast ? given : changed, isLast && isAdded)
  }
  return changed
}

/** Returns a copy of an object or a list with another value at a key, or none. Undefined if a list has no such place. */
function withKey(holder: object, key: string, given: Found | undefined, isAdded: boolean): Found | undefined {
  if (!given && !Object.hasOwn(holder, key)) return undefined
  if (!Array.isArray(holder)) {
    if (given) return { value: { ...holder, [key]: given.value } }
    return { value: Object.fromEntries(Object.entries(holder).filter(([each]) => each !== key)) }
  }
  const at = key === '-' ? holder.length : Number(key)
  if (!Number.isInteger(at) || at < 0 || at > holder.length) return undefined
  return { value: holder.toSpliced(at, isAdded ? 0 : 1, ...(given ? [given.value] : [])) }
}
