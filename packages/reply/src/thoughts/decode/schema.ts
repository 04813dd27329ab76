import { type $ZodType, prettifyError, safeParseAsync, toJSONSchema } from 'zod/v4/core'
import { ReplyError } from '../../error.ts'
import { type Fields, isFields } from '../../fields.ts'

/** A schema of zod 4 or its small build. `T` is its output type, after defaults and transforms. */
export type ValueSchema<T> = $ZodType<T>

/** A value that fits its schema, or the reason why it doesn't. */
export type Checked<T> = { readonly value: T } | { readonly problem: string }

/** A schema as the model receives it. Always of an object. */
export interface ModelSchema<T> {
  /** JSON Schema, of an object. */
  readonly schema: Fields
  /** Reads what the model gave. Never rejects, unless the schema's own code throws. */
  readonly check: (given: unknown) => Promise<Checked<T>>
}

/** Models give objects only: anything else goes into an object's field `value`. Throws `invalid` if JSON can't hold it. */
export function forModel<T>(schema: ValueSchema<T>): ModelSchema<T> {
  const json = inJson(schema)
  if (json.type === 'object') return { schema: json, check: (given) => check(schema, given) }
  return {
    schema: { type: 'object', properties: { value: json }, required: ['value'], additionalProperties: false },
    check: (given) => check(schema, isFields(given) ? given.value : given),
  }
}

function inJson(schema: $ZodType): Fields {
  try {
    // The model's input comes before defaults and transforms.
    const { $schema: _, ...json } = toJSONSchema(schema, { io: 'input' })
    return json
  } catch (error) {
    throw new ReplyError('invalid', `The schema can't be written as JSON Schema: ${String(error)}. Use JSON types.`)
  }
}

async function check<T>(schema: $ZodType<T>, given: unknown): Promise<Checked<T>> {
  const read = await safeParseAsync(schema, given)
  return read.success ? { value: read.data } : { problem: prettifyError(read.error) }
}
