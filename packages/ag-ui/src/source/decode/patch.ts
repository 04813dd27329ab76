import * as z from 'zod'

const operationSchema = z.looseObject({
  op: z.string(),
  path: z.string(),
  from: z.string().optional(),
  value: z.unknown().optional(),
})

/**
 * Applies a JSON Patch (RFC 6902) to a value, and returns the changed copy. Undefined if an operation doesn't fit: the value is then
 * not known any more.
 */
export function patched(value: unknown, patch: readonly unknown[]): { readonly value: unknown } | undefined {
  let next: unknown = structuredClone(value)
  for (const raw of patch) {
    const { data } = operationSchema.safeParse(raw)
    if (!data) return undefined
    const changed = applyOperation(next, data)
    if (!changed) return undefined
    next = changed.value
  }
  return { value: next }
}

type Operation = z.infer<typeof operationSchema>

/** Applies one operation in place. Returns the whole value, or undefined if it doesn't fit. */
function applyOperation(root: unknown, operation: Operation): { readonly value: unknown } | undefined {
  const { op, path, from } = operation
  switch (op) {
    case 'add':
    case 'replace':
      return setAt(root, path, operation.value, op === 'add')
    case 'remove':
      return removeAt(root, path)
    case 'move':
    case 'copy': {
      const found = from === undefined ? undefined : valueAt(root, pathOf(from))
      if (!found || from === undefined) return undefined
      const moved = structuredClone(found.value)
      const rest = op === 'move' ? removeAt(root, from) : { value: root }
      return rest && setAt(rest.value, path, moved, true)
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

function valueAt(root: unknown, path: readonly string[]): { readonly value: unknown } | undefined {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Reflect.get(value, key)
  }
  return { value }
}

function setAt(
  root: unknown,
  pointer: string,
  value: unknown,
  isAdded: boolean,
): { readonly value: unknown } | undefined {
  const path = pathOf(pointer)
  const key = path.at(-1)
  if (key === undefined) return { value }
  const parent = valueAt(root, path.slice(0, -1))?.value
  if (typeof parent !== 'object' || parent === null || key === '__proto__') return undefined
  if (Array.isArray(parent)) {
    const at = key === '-' ? parent.length : Number(key)
    if (!Number.isInteger(at) || at < 0 || at > parent.length) return undefined
    parent.splice(at, isAdded ? 0 : 1, value)
  } else Reflect.set(parent, key, value)
  return { value: root }
}

function removeAt(root: unknown, pointer: string): { readonly value: unknown } | undefined {
  const path = pathOf(pointer)
  const key = path.at(-1)
  if (key === undefined) return { value: undefined }
  const parent = valueAt(root, path.slice(0, -1))?.value
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else Reflect.deleteProperty(parent, key)
  return { value: root }
}
