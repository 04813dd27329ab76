/** The fields of a JSON object. Empty for anything else, and for null. */
export type Fields = Readonly<Record<string, unknown>>

/** Empty for anything but an object or a list. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
