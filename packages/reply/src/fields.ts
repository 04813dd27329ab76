/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value if it is a string, else an empty one. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
