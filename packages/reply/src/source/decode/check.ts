import { en } from 'zod/locales'
import type * as z from 'zod/mini'

/**
 * Checks whether a value has a schema's shape. If it returns false, parse with the schema, which reports the problem.
 */
export type Check = (value: unknown) => boolean

/**
 * Returns a schema's predicate. It returns true only if the schema would accept the value and return it unchanged, so
 * an unsupported kind of schema never matches. Zod copies everything it parses, which is most of the work on a stream
 * where every event is read once. The predicate copies nothing. Reads a private field of zod, which another version may
 * move or change. If the field isn't in the known form, nothing matches and zod parses every value: slower, with the
 * same result.
 */
export function checkOf(schema: z.core.$ZodType): Check {
  try {
    return compileCheck(schema)
  } catch {
    return matchesNothing
  }
}

/** Returns the schema's predicate. Throws if zod's private definition is missing or has another form, at any depth. */
function compileCheck(schema: z.core.$ZodType): Check {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      // Unknown keys survive only if the schema is loose.
      return def.catchall?._zod.def.type === 'unknown' && isObject(def.shape) ? objectCheck(def.shape) : matchesNothing
    case 'string':
      return stringCheck(def.checks ?? [])
    case 'number':
      return def.checks?.length ? matchesNothing : (value) => Number.isFinite(value)
    case 'boolean':
      return (value) => typeof value === 'boolean'
    case 'unknown':
      return () => true
    case 'optional':
      return either((value) => value === undefined, compileCheck(def.innerType))
    case 'nullable':
      return either((value) => value === null, compileCheck(def.innerType))
    case 'literal':
      return Array.isArray(def.values) ? oneOf(def.values) : matchesNothing
    case 'enum':
      return oneOf(Object.values(def.entries))
    case 'array':
      return def.checks?.length ? matchesNothing : arrayCheck(compileCheck(def.element))
    case 'record':
      return def.valueType._zod.def.type === 'unknown' && def.keyType._zod.def.type === 'string'
        ? isObject
        : matchesNothing
    case 'union':
      return def.options.map(compileCheck).reduce(either)
    default:
      return matchesNothing
  }
}

/** Matches no value, so that zod parses each. */
function matchesNothing(): boolean {
  return false
}

/** Matches what one of the two checks matches. */
function either(a: Check, b: Check): Check {
  return (value) => a(value) || b(value)
}

/** Matches exactly these values. */
function oneOf(values: readonly unknown[]): Check {
  return (value) => values.includes(value)
}

/** Matches strings of the minimum length, if there is one. Matches nothing if the schema has any other check. */
function stringCheck(checks: readonly z.core.$ZodCheck<never>[]): Check {
  if (checks.length === 0) return (value) => typeof value === 'string'
  const [only] = checks.map(({ _zod }) => _zod.def as z.core.$ZodCheckMinLengthDef)
  if (checks.length > 1 || only?.check !== 'min_length') return matchesNothing
  const { minimum } = only
  return (value) => typeof value === 'string' && value.length >= minimum
}

/** Matches arrays whose items all match. */
function arrayCheck(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check)
}

/**
 * Matches objects with all required fields, whose known fields match. Iterates over the value's keys, because most of a
 * schema's are optional and looking up an absent one is slow.
 */
function objectCheck(shape: Readonly<Record<string, z.core.$ZodType>>): Check {
  const fields = new Map(
    Object.entries(shape).map(([key, schema]) => {
      const check = compileCheck(schema)
      // An `unknown` field accepts any value but must be present.
      const isOptional = check(undefined) && schema._zod.def.type !== 'unknown'
      return [key, { check, needed: isOptional ? 0 : 1 }]
    }),
  )
  const needed = [...fields.values()].reduce((sum, field) => sum + field.needed, 0)
  return (value) => {
    if (!isObject(value)) return false
    let missing = needed
    for (const key in value) {
      const field = fields.get(key)
      if (field === undefined) continue
      if (!field.check(value[key])) return false
      missing -= field.needed
    }
    return missing === 0
  }
}

/** Whether a value is an object other than null and an array. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Makes a parse report its problems in English. Zod's small build has no messages without it. */
export const inEnglish = { error: en().localeError }
