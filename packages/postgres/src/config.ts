import type { BridgeStore, StoreHost } from '@reply/bridge'
import { keepSecret, secretSource } from '@reply/sink/channel'
import pg from 'pg'
import * as z from 'zod'
import { checkPostgres } from './check.ts'
import { existingPostgresStore, type PostgresStoreOptions, postgresStore } from './postgres-store.ts'

/** A PostgreSQL database as the state of a bridge, in its config. */
export const postgresConfig = z.strictObject({
  type: z.literal('postgres').describe('A PostgreSQL database, which several machines can share.'),
  url: secretSource.describe('The URL of the database: postgres://user:password@host:port/database.'),
  schema: z.string().min(1).max(63).optional().describe('The schema of its tables. Default: reply.'),
})

/** The config of a PostgreSQL state. */
export type PostgresConfig = z.infer<typeof postgresConfig>

/** PostgreSQL as the state of a bridge. */
export const bridgeStore: BridgeStore<PostgresConfig> = {
  schema: postgresConfig,
  open: async (config, host) => await postgresStore(optionsOf(config, host)),
  openExisting: async (config, host) => await existingPostgresStore(optionsOf(config, host)),
  check: async (config, host) => await checkPostgres(optionsOf(config, host)),
}

/** Reads the URL, and keeps its password out of all errors. */
function optionsOf({ url, schema }: PostgresConfig, { secret }: StoreHost): PostgresStoreOptions {
  const read = secret(url)
  try {
    const { password } = new pg.Client(read)
    if (password) keepSecret(password)
  } catch {
    // The store reports a URL that can't be read.
  }
  return { url: read, schema }
}
