import { hasPostgres, needsPostgres, type PostgresServer, startPostgres } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { playOutcomes } from './outcomes.ts'

describe.skipIf(!hasPostgres())(`what callers are told (${needsPostgres})`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(async () => await server.remove())

  test.each([1, 2])('is what PostgreSQL has, with networks that fail (seed %d)', async (seed) => {
    const { wrong, outcomes } = await playOutcomes(server, { seed, faults: 12, isServerHit: false })
    expect(wrong).toEqual([])
    expect(Object.keys(outcomes)).toEqual(expect.arrayContaining(['done', 'conflict', 'fenced']))
  })
})
