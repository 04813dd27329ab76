import { storeContract } from '@reply/bridge/testing'
import { hasPostgres, needsPostgres, type PostgresServer, startPostgres } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { stageOn } from './stage.ts'

describe.skipIf(!hasPostgres())(`the PostgreSQL store (${needsPostgres})`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(async () => await server.remove())

  const clauses = storeContract({ name: 'it', setup: () => stageOn(server) })
  test.each(clauses.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => await run())
})
