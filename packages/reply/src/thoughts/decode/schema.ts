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
  /** Checks the value that the model passed. Only rejects if the schema's own code throws. */
  readonly check: (value: unknown) => Promise<Checked<T>>
}

/**
 * Describes a schema for the model. Models only pass objects, so any other schema becomes the field `value` of one. Its
 * `check` then also accepts a value that isn't an object as it is. Throws `invalid` if the schema can't be written as
 * JSON Schema.
 */
export function modelSchemaOf<T>(schema: ValueSchema<T>): ModelSchema<T> {
  const json = jsonSchemaOf(schema)
  if (json.type === 'object') return { schema: json, check: (value) => checkValue(schema, value) }
  return {
    schema: { type: 'object', properties: { value: json }, required: ['value'], additionalProperties: false },
    check: (value) => checkValue(schema, isFields(value) ? value.value : value),
  }
}

/** The JSON Schema of the input. Throws `invalid` if it can't be written as one. */
function jsonSchemaOf(schema: $ZodType): Fields {
  try {
    // The model's input comes before defaults and transforms.
    const { $schema: _, ...json } = toJSONSchema(schema, { io: 'input' })
    return json
  } catch (error) {
    throw new ReplyError('invalid', `The schema can't be written as JSON Schema: ${String(error)}. Use JSON types.`)
  }
}

/**
 * Resolves with the parsed value, or with the reason why the value does not fit. Only rejects if the schema's own code
 * throws.
 */
async function checkValue<T>(schema: $ZodType<T>, value: unknown): Promise<Checked<T>> {
  const read = await safeParseAsync(schema, value)
  return read.success ? { value: read.data } : { problem: prettifyError(read.error) }
}
