import * as z from 'zod'

/** A missing or invalid field of a channel's entry, as its JSON Schema describes it. */
export interface Field {
  readonly name: string
  readonly description: string
  /** Whether it is `{ "env": … }` or `{ "file": … }`. */
  readonly isSecret: boolean
  /** The allowed values. Empty for free text. */
  readonly choices: readonly string[]
  /** Why its value is invalid. Undefined if it has none. */
  readonly fault: string | undefined
}

/** The keywords of a JSON Schema that are used here. */
const schemaShape = z.object({
  const: z.string().optional(),
  enum: z.array(z.string()).optional(),
  description: z.string().optional(),
  get anyOf(): z.ZodOptional<z.ZodArray<typeof schemaShape>> {
    return z.array(schemaShape).optional()
  },
  get oneOf(): z.ZodOptional<z.ZodArray<typeof schemaShape>> {
    return z.array(schemaShape).optional()
  },
  get properties(): z.ZodOptional<z.ZodRecord<z.ZodString, typeof schemaShape>> {
    return z.record(z.string(), schemaShape).optional()
  },
})
type Shape = z.infer<typeof schemaShape>

/**
 * Returns the missing and invalid fields of a channel's entry, for which `init` asks the person: in the order of the schema's
 * errors, each once with its last error. Empty if the entry is valid.
 */
export function faultyFields(schema: z.ZodType, entry: Readonly<Record<string, unknown>>): readonly Field[] {
  const { error } = schema.safeParse(entry)
  const faults = new Map(
    (error?.issues ?? []).flatMap(({ path: [name], message }) => (name === undefined ? [] : [[String(name), message]])),
  )
  const shape = schemaShape.parse(z.toJSONSchema(schema, { io: 'input' }))
  const kinds = [shape, ...(shape.oneOf ?? []), ...(shape.anyOf ?? [])].filter((kind) => canBeOfKind(kind, entry))
  return [...faults].map(([name, message]) => ({
    ...mergedField(kinds.flatMap(({ properties }) => properties?.[name] ?? [])),
    name,
    fault: entry[name] === undefined ? undefined : message,
  }))
}

/** Whether an entry can be of this kind. Kinds differ in a field that has a constant value. */
function canBeOfKind({ properties = {} }: Shape, entry: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(properties).every(([name, { const: only }]) => {
    return only === undefined || entry[name] === undefined || entry[name] === only
  })
}

/**
 * Combines the field's shapes in all kinds of entry that fit: joins their descriptions and choices. It is a secret if it is one
 * in any of them.
 */
function mergedField(shapes: readonly Shape[]): Omit<Field, 'name' | 'fault'> {
  const descriptions = shapes.flatMap(({ description }) => description ?? [])
  return {
    description: descriptions.join(' Or: '),
    isSecret: shapes.some(({ anyOf = [] }) => anyOf.some(({ properties }) => properties?.env !== undefined)),
    choices: shapes.flatMap(({ const: only, enum: all }) => all ?? only ?? []),
  }
}
