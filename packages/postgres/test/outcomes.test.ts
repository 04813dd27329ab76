import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { playOutcomes } from './outcomes.ts'

describe.skipIf(!hasPostgres())(`what callers are told (${needsPostgres})`, () => {
  test.each([1, 2])('is what PostgreSQL has, with networks that fail (seed %d)', async (seed) => {
    const url = await (await sharedPostgres()).createDatabase()
    expect((await playOutcomes({ url, seed, faults: 12 })).wrong).toEqual([])
  })
})
