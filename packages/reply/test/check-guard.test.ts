import { afterEach, expect, test, vi } from 'vitest'
import * as z from 'zod/mini'
import { checkOf } from '../src/source/decode/check.ts'
import { createDecoder } from '../src/source/opencode1/decode.ts'
import { wireEvents, wireParts } from './wire.ts'

const path = '../src/source/opencode1/decode/schema.ts'

const unknown = { _zod: { def: { type: 'unknown' } } }

/** What another version of zod may keep in the private field. */
const strange: Readonly<Record<string, unknown>> = {
  'is missing': undefined,
  'is null': null,
  'has no description': {},
  'cannot be read': {
    get def(): never {
      throw new Error('This field is private.')
    },
  },
  'describes nothing': { def: null },
  'has no type': { def: {} },
  'has a new type': { def: { type: 'shape' } },
  'has a type of another kind': { def: { type: 7 } },
  'is an object without a shape': { def: { type: 'object', catchall: unknown } },
  'is an object with a list as shape': { def: { type: 'object', catchall: unknown, shape: [] } },
  'is an object of strange fields': { def: { type: 'object', catchall: unknown, shape: { type: {}, id: {} } } },
  'is an object with a strange rest': { def: { type: 'object', catchall: {}, shape: {} } },
  'is a text with strange rules': { def: { type: 'string', checks: 'min' } },
  'is a text with a rule of another shape': { def: { type: 'string', checks: [{}] } },
  'is a literal without values': { def: { type: 'literal', values: 'busy' } },
  'is an enum without entries': { def: { type: 'enum' } },
  'is a union without options': { def: { type: 'union' } },
  'is a union of strange options': { def: { type: 'union', options: [{}, undefined] } },
  'is a list without an element': { def: { type: 'array' } },
  'is a record without types': { def: { type: 'record' } },
}
const cases = Object.entries(strange)

/** Each event and part as a server sends it, and with numbers for texts. */
const properties = [
  ...Object.entries(wireEvents),
  ...Object.values(wireParts).map((part) => ['message.part.updated', { part }] as const),
]
const frames = properties.flatMap(([type, given]) => [
  { type, properties: given },
  { type, properties: broken(given) },
])

function broken(value: object): unknown {
  return JSON.parse(JSON.stringify(value), (_, inner) => (typeof inner === 'string' ? 7 : inner))
}

/** The module's schemas, alone or in an object, with another private field. */
function withPrivates(module: object, _zod: unknown): object {
  return Object.fromEntries(
    Object.entries(module).map(([name, value]) => {
      return [name, value instanceof z.ZodMiniType ? withPrivate(value, _zod) : withPrivates(value, _zod)]
    }),
  )
}

const values = [undefined, null, 'min', 7, true, {}, [], [1], { id: 'a', type: 'b' }]

/** Parses like the schema itself. */
function withPrivate(schema: z.ZodMiniType, _zod: unknown): z.ZodMiniType {
  const safeParse = schema.safeParse.bind(schema)
  return Object.create(schema, { _zod: { value: _zod }, safeParse: { value: safeParse } })
}

test.each(cases)('the quick check of a schema whose private field %s matches nothing', (_, _zod) => {
  const check = checkOf(withPrivate(z.looseObject({}), _zod))
  expect(values.filter(check)).toEqual([])
})

test.each(cases)('a decoder whose schemas all have a private field that %s decodes the same', async (_, _zod) => {
  const errors: string[] = []
  const report = (error: Error): void => void errors.push(error.message)
  const usual = createDecoder({ onError: report })
  const events = frames.map((frame) => usual.decodeValue(frame, 7))
  const usualErrors = errors.splice(0)
  expect(events.filter((event) => event !== undefined).length).toBeGreaterThan(30)
  expect(usualErrors.length).toBeGreaterThan(30)

  vi.doMock(path, async (original) => withPrivates(await original(), _zod))
  const strange = await import('../src/source/opencode1/decode.ts')
  const decoder = strange.createDecoder({ onError: report })
  expect(frames.map((frame) => decoder.decodeValue(frame, 7))).toEqual(events)
  expect(errors).toEqual(usualErrors)
})

afterEach(() => {
  vi.doUnmock(path)
  vi.resetModules()
})
