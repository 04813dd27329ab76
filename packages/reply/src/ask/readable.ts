/** Deeper values cannot be read by a person, and not be walked without end. */
const maxDepth = 256

/** Beyond it, lines are not indented further: deep values would grow with the square of their depth. */
const maxIndent = 16

/** Whether a value can be told: nothing in it is nested too deeply. */
export function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth < maxDepth && Object.values(value).every((item) => isShallow(item, depth + 1))
}

/** Every string in a value, at any depth; keys are not among them. */
export function leavesOf(value: unknown): readonly string[] {
  const leaves: string[] = []
  collect(value, leaves)
  return leaves
}

function collect(value: unknown, leaves: string[]): void {
  if (typeof value === 'string') leaves.push(value)
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) collect(item, leaves)
}

/** A value without the strings that are known already; undefined when no other is left in it. */
export function without(value: unknown, known: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return value === '' || known.has(value) ? undefined : value
  if (typeof value !== 'object' || value === null) return value ?? undefined
  if (!leavesOf(value).some((leaf) => leaf !== '' && !known.has(leaf))) return undefined
  if (Array.isArray(value)) return value.map((item) => without(item, known)).filter((item) => item !== undefined)
  const fields = Object.entries(value).map(([name, item]) => [name, without(item, known)] as const)
  return Object.fromEntries(fields.filter(([, item]) => item !== undefined))
}

/**
 * A value as text: a string is itself, everything else is an outline with one field or item a line. Strings in it are
 * verbatim, with quotes only where they would be taken for something else; the lines of a longer one are indented.
 */
export function readable(value: unknown): string {
  if (typeof value === 'string') return value
  if (!isNested(value)) return JSON.stringify(value) ?? ''
  const lines: string[] = []
  outline(value, 0, lines)
  return lines.join('\n')
}

function outline(value: object, depth: number, lines: string[]): void {
  const indent = '  '.repeat(Math.min(depth, maxIndent))
  const entries = Array.isArray(value) ? value.map((item) => ['-', item] as const) : fieldsOf(value)
  for (const [name, item] of entries) {
    if (isNested(item)) {
      lines.push(`${indent}${name}`)
      outline(item, depth + 1, lines)
    } else if (typeof item === 'string' && item.includes('\n')) {
      lines.push(`${indent}${name} |`, ...item.split('\n').map((line) => `${indent}  ${line}`))
    } else lines.push(`${indent}${name} ${scalar(item)}`)
  }
}

function fieldsOf(value: object): readonly (readonly [string, unknown])[] {
  const fields = Object.entries(value).filter(([, item]) => item !== undefined)
  return fields.map(([key, item]) => [`${/[\n:]/.test(key) ? JSON.stringify(key) : key}:`, item] as const)
}

/** A string that looks like another value is quoted: "1" is not 1. */
function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null'
  return /^(true|false|null|\||-?\d[\d.eE+-]*|[{[].*|".*|\s.*|.*\s|)$/.test(value) ? `"${value}"` : value
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
