import { TestingError } from '../../src/error.ts'

/** The fields of an object; none of anything else. */
export const fieldsAt = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

/** The string at a path of an unknown value, or a failure that names the path. */
export const stringAt = (value: unknown, ...path: readonly string[]): string => {
  const found = path.reduce<unknown>((at, key) => fieldsAt(at)[key], value)
  if (typeof found === 'string') return found
  throw new TestingError('scenario', `No string at ${path.join('.')} of ${JSON.stringify(value).slice(0, 300)}.`)
}

export const listAt = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
