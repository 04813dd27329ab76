import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { checkOf } from '../src/source/decode/check.ts'
import { eventSchemas, partSchemas } from '../src/source/opencode1/decode/schema.ts'
import { wireEvents, wireParts } from './wire.ts'

const schemas = Object.entries({ ...eventSchemas, ...partSchemas })
const examples = { ...wireEvents, ...wireParts } as Readonly<Record<string, object>>
const junk = fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, Number.NaN, Number.POSITIVE_INFINITY))

/** An example with one of its values replaced, at any depth. */
function broken(example: unknown): fc.Arbitrary<unknown> {
  if (typeof example !== 'object' || example === null) return junk
  const entries = Object.entries(example)
  const inner = entries.map(([key, value]) => broken(value).map((other) => replaced(example, key, other)))
  const added = fc
    .tuple(
      fc.string().filter((key) => key !== '__proto__'),
      junk,
    )
    .map(([key, value]) => replaced(example, key, value))
  return fc.oneof(junk, ...(Array.isArray(example) ? [] : [added]), ...inner)
}

function replaced(example: object, key: string, value: unknown): unknown {
  return Array.isArray(example) ? Object.assign([...example], { [key]: value }) : { ...example, [key]: value }
}

describe('the quick check', () => {
  test.each(schemas)('of %s accepts only what its schema accepts unchanged', (type, schema) => {
    const check = checkOf(schema)
    expect(check(examples[type]) || type === 'permission.updated').toBe(true)
    fc.assert(
      fc.property(broken(examples[type]), (value) => {
        const parsed = schema.safeParse(value)
        if (check(value)) expect(parsed).toEqual({ success: true, data: value })
      }),
      { numRuns: 100 },
    )
  })

  test.each(schemas)('of %s accepts everything that its schema accepts unchanged', (type, schema) => {
    const check = checkOf(schema)
    fc.assert(
      fc.property(broken(examples[type]), (value) => {
        const parsed = schema.safeParse(value)
        if (parsed.success && type !== 'permission.updated') expect(check(value)).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  const kinds = {
    'an object that drops keys': z.object({ a: z.string() }),
    'an object that refuses keys': z.strictObject({ a: z.string() }),
    'a bounded text': z.looseObject({ a: z.string().max(3) }),
    'a text with a default': z.looseObject({ a: z.string().default('a') }),
    'a text made of anything': z.looseObject({ a: z.coerce.string() }),
    'a whole number': z.looseObject({ a: z.number().int() }),
    'a bounded list': z.looseObject({ a: z.array(z.string()).max(1) }),
    'a list of other things': z.looseObject({ a: z.array(z.date()) }),
    'a text that is made another': z.looseObject({ a: z.string().transform((text) => text.trim()) }),
    'a text that is judged': z.looseObject({ a: z.string().refine((text) => text === 'a') }),
    'a text that is trimmed': z.looseObject({ a: z.string().trim() }),
  }

  test.each(Object.entries(kinds))('of %s, which no event has, does not accept too much', (_, schema) => {
    const values = ['a', ' a ', 'long text', 1, 1.5, undefined, null, [], ['a', 'b'], new Date(), {}]
    for (const value of [...values.map((a) => ({ a })), ...values.map((a) => ({ a, more: 1 })), ...values]) {
      if (checkOf(schema)(value)) expect(schema.safeParse(value)).toEqual({ success: true, data: value })
    }
  })
})
