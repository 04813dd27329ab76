import { expect, test } from 'vitest'
import * as z from 'zod'
import { secretSource, sinkFields } from '../src/inbound/bridge-config.ts'

const fields = z.strictObject(sinkFields)

test('a secret comes from the environment or a file, and is never in the config', () => {
  expect(secretSource.parse({ env: 'TOKEN' })).toEqual({ env: 'TOKEN' })
  expect(secretSource.parse({ file: './token' })).toEqual({ file: './token' })
  for (const value of ['42:secret', { env: '' }, { env: 'A', file: 'b' }, {}])
    expect(secretSource.safeParse(value).success).toBe(false)
})

test('a policy keeps only the fields that are given, and refuses others', () => {
  expect(fields.parse({ policy: { verbosity: 'quiet' } })).toEqual({ policy: { verbosity: 'quiet' } })
  expect(fields.safeParse({ policy: { heartbeatMs: 5 } }).success).toBe(false)
  expect(fields.safeParse({ policy: { loud: true } }).success).toBe(false)
})

test('words are texts with a name of their own', () => {
  expect(fields.parse({ texts: { reject: 'Nein' } })).toEqual({ texts: { reject: 'Nein' } })
  expect(fields.safeParse({ texts: { rejekt: 'Nein' } }).success).toBe(false)
})

test('the JSON Schema describes each field', () => {
  const { properties } = z.toJSONSchema(fields)
  const inner = Object.values(properties ?? {}).flatMap((field) =>
    typeof field === 'object' ? Object.entries(field.properties ?? {}) : [],
  )
  expect(inner.length).toBeGreaterThan(20)
  for (const [name, field] of inner)
    expect([name, field]).toEqual([name, expect.objectContaining({ description: expect.any(String) })])
})
