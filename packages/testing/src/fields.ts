/** The fields of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>

/** A copy of the fields. Empty for anything but an object or a list. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
