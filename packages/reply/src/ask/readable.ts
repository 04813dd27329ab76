/** Deeper values are unreadable for a person, and the limit bounds the recursion. */
const maxDepth = 256

/** Deeper lines are not indented further: the text would grow with the square of the depth. */
const maxIndent = 16

/** Whether nothing in a value is nested too deeply to be shown. */
export function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth < maxDepth && Object.values(value).every((item) => isShallow(item, depth + 1))
}

/** Every string in a value, at any depth; excludes keys. */
export function leavesOf(value: unknown): readonly string[] {
  const leaves: string[] = []
  collect(value, leaves)
  return leaves
}

function collect(value: unknown, leaves: string[]): void {
  if (typeof value === 'string') leaves.push(value)
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) collect(item, leaves)
}

/** Removes the known strings from a value. Undefined if no other string is left. */
export function without(value: unknown, isKnown: (leaf: string) => boolean): unknown {
  if (typeof value === 'string') return value === '' || isKnown(value) ? undefined : value
  if (typeof value !== 'object' || value === null) return value ?? undefined
  if (!leavesOf(value).some((leaf) => leaf !== '' && !isKnown(leaf))) return undefined
  if (Array.isArray(value)) return value.map((item) => without(item, isKnown)).filter((item) => item !== undefined)
  const fields = Object.entries(value).map(([name, item]) => [name, without(item, isKnown)] as const)
  return Object.fromEntries(fields.filter(([, item]) => item !== undefined))
}

/**
 * Fields as an outline with one field or item per line. Strings in it are verbatim, quoted only if they would be read as
 * something else; multi-line strings are indented.
 */
export function readableFields(fields: readonly (readonly [name: string, value: unknown])[]): string {
  const lines: string[] = []
  outline(labelled(fields), 0, lines)
  return lines.join('\n')
}

type Labelled = readonly (readonly [label: string, value: unknown])[]

function outline(entries: Labelled, depth: number, lines: string[]): void {
  const indent = '  '.repeat(Math.min(depth, maxIndent))
  for (const [name, item] of entries) {
    if (isNested(item)) {
      lines.push(`${indent}${name}`)
      const inner = Array.isArray(item) ? item.map((one) => ['-', one] as const) : labelled(Object.entries(item))
      outline(inner, depth + 1, lines)
    } else if (typeof item === 'string' && item.includes('\n')) {
      lines.push(`${indent}${name} |`, ...item.split('\n').map((line) => `${indent}  ${line}`))
    } else lines.push(`${indent}${name} ${scalar(item)}`)
  }
}

function labelled(fields: readonly (readonly [string, unknown])[]): Labelled {
  const present = fields.filter(([, item]) => item !== undefined)
  return present.map(([key, item]) => [`${/[\n:]/.test(key) ? JSON.stringify(key) : key}:`, item] as const)
}

/** Quotes a string that looks like another value: "1" is not 1. */
function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null'
  return /^(true|false|null|\||-?\d[\d.eE+-]*|[{[].*|".*|\s.*|.*\s|)$/.test(value) ? `"${value}"` : value
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
