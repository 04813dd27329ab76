/** The shapes of an agent's lines: for each kind of line, its fields with the types of their values. */
export type Shapes = Readonly<Record<string, readonly string[]>>

/** How deep fields are followed. Below it, values are free data, for example a schema. */
const maxDepth = 7

/** The fields of a line that name its kind, in the protocols of all agents. */
const naming = ['type', 'subtype', 'method', 'sessionUpdate'] as const

/** Whether a JSON value is an object. */
function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a line's kind, for example `session/update agent_message_chunk`. Values never belong to it. */
function kindOf(line: Readonly<Record<string, unknown>>): string {
  const { event, request, params, payload } = line
  const items = [inside(params, 'update'), inside(params, 'item'), inside(inside(payload, 'properties'), 'part')]
  const places = [line, event, request, payload, params, ...items]
  const names = places.flatMap((place) => (isFields(place) ? naming.map((name) => place[name]) : []))
  const kind = names
    .filter((name): name is string => typeof name === 'string' && /^[\w./$-]{1,60}$/.test(name))
    .join(' ')
  if (kind !== '') return kind
  return 'error' in line ? 'error' : 'result'
}

function inside(value: unknown, name: string): unknown {
  return isFields(value) ? value[name] : undefined
}

/** Keys that are data, for example the name of a model or a path, count as one. */
function keyName(key: string): string {
  return /^_?[A-Za-z][A-Za-z_]{0,39}$|^_[\w/]{1,40}$|^\$schema$/.test(key) ? key : '*'
}

/** Adds `path:type` for the value and everything in it. */
function addPaths(value: unknown, path: string, depth: number, paths: Set<string>): void {
  if (Array.isArray(value)) {
    if (value.length === 0) paths.add(`${path}[]`)
    for (const item of value) addPaths(item, `${path}[]`, depth + 1, paths)
  } else if (isFields(value) && depth < maxDepth && !/\b(input|rawInput|arguments|schema|inputSchema)$/.test(path)) {
    if (Object.keys(value).length === 0) paths.add(`${path}:object`)
    for (const [key, item] of Object.entries(value)) {
      addPaths(item, path === '' ? keyName(key) : `${path}.${keyName(key)}`, depth + 1, paths)
    }
  } else paths.add(`${path}:${value === null ? 'null' : typeof value}`)
}

/** Returns the shapes of lines, sorted, so that the same lines give the same file. Lines that are no objects have none. */
export function shapesOf(lines: Iterable<unknown>): Shapes {
  const kinds = new Map<string, Set<string>>()
  for (const line of lines) {
    if (!isFields(line)) continue
    const kind = kindOf(line)
    const paths = kinds.get(kind) ?? new Set()
    kinds.set(kind, paths)
    addPaths(line, '', 0, paths)
  }
  return sorted(kinds)
}

/** Returns what is in `seen` and not in `known`: whole kinds of lines by their name, fields as `kind: path:type`. */
export function newShapes(known: Shapes, seen: Shapes): readonly string[] {
  return Object.entries(seen).flatMap(([kind, paths]) => {
    const before = known[kind]
    if (before === undefined) return [kind]
    return paths.filter((path) => !before.includes(path)).map((path) => `${kind}: ${path}`)
  })
}

/** Returns the shapes of both. */
export function joinedShapes(one: Shapes, other: Shapes): Shapes {
  const kinds = new Map(Object.entries(one).map(([kind, paths]) => [kind, new Set(paths)]))
  for (const [kind, paths] of Object.entries(other)) kinds.set(kind, new Set([...(kinds.get(kind) ?? []), ...paths]))
  return sorted(kinds)
}

function sorted(kinds: ReadonlyMap<string, ReadonlySet<string>>): Shapes {
  const entries = [...kinds].map(([kind, paths]): [string, string[]] => [kind, [...paths].sort()])
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Returns the shapes as JSON, with a line for each kind, so that a change is readable in a diff. */
export function shapesJson(shapes: Shapes): string {
  const lines = Object.entries(shapes).map(([kind, paths]) => `  ${JSON.stringify(kind)}: ${JSON.stringify(paths)}`)
  return `{\n${lines.join(',\n')}\n}\n`
}
