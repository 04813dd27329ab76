import type { BridgeStore, StoreHost } from '@reply/bridge'
import { secretSource } from '@reply/sink/channel'
import pg from 'pg'
import * as z from 'zod'
import { checkPostgres } from './check.ts'
import { existingPostgresStore, type PostgresStoreOptions, postgresStore } from './postgres-store.ts'

/** A PostgreSQL database as the state of a bridge, in its config. */
export const postgresConfig = z.strictObject({
  type: z.literal('postgres').describe('A PostgreSQL database, which several machines can share.'),
  url: secretSource.describe('The URL of the database: postgres://user:password@host:port/database.'),
  listenUrl: secretSource
    .optional()
    .describe('The URL of the database itself, if `url` leads to a pooler such as PgBouncer. Default: url.'),
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

/** Reads the URLs, and keeps their passwords out of all errors. */
function optionsOf({ url, listenUrl, schema }: PostgresConfig, { secret, onNotice }: StoreHost): PostgresStoreOptions {
  const read = (source: PostgresConfig['url']): string => secret(source, passwordsIn)
  return { url: read(url), listenUrl: listenUrl && read(listenUrl), schema, onNotice }
}

/** Returns the password of a URL as it is written and as it is used, or all of a text that is not a URL. */
function passwordsIn(url: string): readonly string[] {
  try {
    const passwords: readonly unknown[] = [new URL(url).password, new pg.Client(url).password]
    return passwords.filter((password) => typeof password === 'string')
  } catch {
    return [url]
  }
}
