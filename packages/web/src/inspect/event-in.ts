/** Returns the event in a frame, which may be wrapped. Undefined if it isn't JSON. */
export function eventIn(data: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = fieldsIn(JSON.parse(data))
    return value?.type === undefined ? (fieldsIn(value?.payload) ?? value) : value
  } catch {
    return undefined
  }
}

export function fieldsIn(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}
