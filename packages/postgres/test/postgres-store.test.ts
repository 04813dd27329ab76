import type { Store } from '@reply/bridge'
import { type StoreStage, storeContract } from '@reply/bridge/testing'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { postgresStore } from '../src/index.ts'

const url = process.env.PGX ?? ''
let count = 0

/** A schema of its own, with a clock that only `pass` advances. */
async function stage(): Promise<StoreStage> {
  const schema = `contract ${process.pid} ${count++}`
  const quoted = `"${schema}"`
  const admin = new pg.Client(url)
  await admin.connect()
  const opened: Store[] = []
  const first = await postgresStore({ url, schema })
  opened.push(first)
  await admin.query(`CREATE TABLE ${quoted}.hand_clock AS SELECT now() AS at;
    CREATE OR REPLACE FUNCTION ${quoted}.store_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM ${quoted}.hand_clock'`)
  return {
    open: async () => {
      const store = await postgresStore({ url, schema })
      opened.push(store)
      return store
    },
    pass: async (ms) =>
      void (await admin.query(`UPDATE ${quoted}.hand_clock SET at = at + $1 * interval '1 ms'`, [ms])),
    close: async () => {
      await Promise.all(opened.map((store) => store.close()))
      await admin.query(`DROP SCHEMA ${quoted} CASCADE`)
      await admin.end()
    },
  }
}

describe('the PostgreSQL store', () => {
  const clauses = storeContract({ name: 'it', setup: stage })
  test.each(clauses.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => await run())
})
