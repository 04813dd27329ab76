import { TestingError } from '../../src/error.ts'

/** Returns the fields of an object. Empty for anything else. */
export const fieldsAt = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

/** Returns the string at a path of an unknown value. Throws an error that names the path if there is none. */
export const stringAt = (value: unknown, ...path: readonly string[]): string => {
  const found = path.reduce<unknown>((at, key) => fieldsAt(at)[key], value)
  if (typeof found === 'string') return found
  throw new TestingError('scenario', `No string at ${path.join('.')} of ${JSON.stringify(value).slice(0, 300)}.`)
}

/** Returns a list as it is. Empty for anything else. */
export const listAt = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
