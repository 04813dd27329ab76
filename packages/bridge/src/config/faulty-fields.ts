import * as z from 'zod'

/** A field of a channel's entry that is not right yet, as its JSON Schema describes it. */
export interface Field {
  readonly name: string
  readonly description: string
  /** Whether it is `{ "env": … }` or `{ "file": … }`. */
  readonly isSecret: boolean
  /** Its only values; empty if it is free text. */
  readonly choices: readonly string[]
  /** What is wrong with its value. Undefined if it has none. */
  readonly fault: string | undefined
}

/** What is used of a JSON Schema. */
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

/** The fields that an entry lacks or has wrong, in their order. Empty if the entry is right. */
export function faultyFields(schema: z.ZodType, entry: Readonly<Record<string, unknown>>): readonly Field[] {
  const { error } = schema.safeParse(entry)
  const faults = new Map(
    (error?.issues ?? []).flatMap(({ path: [name], message }) => (name === undefined ? [] : [[String(name), message]])),
  )
  const shape = schemaShape.parse(z.toJSONSchema(schema, { io: 'input' }))
  const kinds = [shape, ...(shape.oneOf ?? []), ...(shape.anyOf ?? [])].filter((kind) => fits(kind, entry))
  return [...faults].map(([name, message]) => ({
    ...fieldOf(kinds.flatMap(({ properties }) => properties?.[name] ?? [])),
    name,
    fault: entry[name] === undefined ? undefined : message,
  }))
}

/** An entry may have one of several kinds, which a field with one value tells apart. */
function fits({ properties = {} }: Shape, entry: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(properties).every(([name, { const: only }]) => {
    return only === undefined || entry[name] === undefined || entry[name] === only
  })
}

function fieldOf(shapes: readonly Shape[]): Omit<Field, 'name' | 'fault'> {
  const descriptions = shapes.flatMap(({ description }) => description ?? [])
  return {
    description: descriptions.join(' Or: '),
    isSecret: shapes.some(({ anyOf = [] }) => anyOf.some(({ properties }) => properties?.env !== undefined)),
    choices: shapes.flatMap(({ const: only, enum: all }) => all ?? only ?? []),
  }
}
