import { StoreError } from '@reply/bridge'
import { addressOf } from './connection.ts'
import { incompleteError, otherProgramError, toStoreError } from './errors.ts'
import { hearsNotifications, unheard } from './hints.ts'
import { listeningOf, onServer, type PostgresStoreOptions } from './postgres-store.ts'
import { hasSchema, literal, readMs, requireServer, versionOf } from './schema.ts'

const tables = ['stored', 'queued', 'leased', 'members', 'shares', 'freezes', 'writers']
const functions = [
  'store_time',
  'lock_state',
  'sync_commit',
  'send_hint',
  'is_expired',
  'apply_write',
  'commit_batch',
  'is_valid_until',
  'is_frozen_at',
  'refusal_of',
  'wanted_leases',
  'leases_to_take',
  'reservation_of',
  'whole_calls',
  'give_back_share',
  'is_used',
  'keep_counted',
  'take_share',
  'try_lock_members',
  'try_lock_state',
  'beat',
  'leave',
  'release_lease',
]

/** What the settings of a server say about a state in it. */
interface ServerSettings {
  readonly may_write: boolean
  readonly has_other_tables: boolean
  /** How many of our functions there are. */
  readonly functions: number
  readonly is_standby: boolean
  readonly is_read_only: boolean
  readonly fsync: string
  readonly synchronous_commit: string
  readonly standbys: string
}

/**
 * Checks that a bridge could keep its state in a database, and changes nothing. Resolves with sentences: the version of the
 * server and whether the state can be written, then what a crash or a failover could lose. Rejects with a `StoreError` that
 * says what is missing.
 */
export async function checkPostgres(options: PostgresStoreOptions): Promise<readonly string[]> {
  return await onServer(options, async ({ connection, pool, schema, server }) => {
    const version = await requireServer(connection)
    const state = await versionOf(connection, schema)
    const [found] = await connection.query<ServerSettings & { [column: string]: unknown }>(
      `SELECT ${rightTo(schema, state !== undefined, await hasSchema(connection, schema))} AS may_write,
        EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname = ANY ($2)) AS has_other_tables,
        (SELECT count(DISTINCT proname)::int FROM pg_proc
          WHERE pronamespace = to_regnamespace($1) AND proname = ANY ($3)) AS functions,
        pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only') = 'on' AS is_read_only,
        current_setting('fsync') AS fsync,
        current_setting('synchronous_commit') AS synchronous_commit,
        current_setting('synchronous_standby_names') AS standbys`,
      [schema, tables, functions],
      readMs,
    )
    if (!found) throw new StoreError('failed', `PostgreSQL at ${server} did not tell its settings.`)
    if (found.is_standby)
      throw new StoreError(
        'failed',
        `PostgreSQL at ${server} is a standby, which is read-only. Name the primary in the URL.`,
      )
    if (found.is_read_only)
      throw new StoreError(
        'failed',
        `PostgreSQL at ${server} lets this user only read. Turn its default_transaction_read_only off.`,
      )
    if (!state && found.has_other_tables) throw otherProgramError(server)
    if (state && found.functions < functions.length) throw incompleteError(server)
    if (!found.may_write)
      throw new StoreError(
        'failed',
        `PostgreSQL at ${server} does not let this user write the state. Grant it CREATE on the database, or make it the owner of the schema ${schema}.`,
      )
    const present = state ? `with the state of a bridge, version ${state.version}` : 'no state yet'
    const run = async (sql: string, values: readonly unknown[]): Promise<unknown> =>
      await connection.query(sql, values, readMs)
    const listening = listeningOf(options, pool, run)
    const listener = addressOf(listening.connection)
    const isHeard = await hearsNotifications(listening).catch((error: unknown) => {
      throw toStoreError(listener, error)
    })
    return [
      `PostgreSQL ${version} at ${server}, schema ${schema}, can be written to, ${present}`,
      ...warningsOf(found),
      isHeard ? 'Its notifications arrive, so bridges hear of each other at once.' : unheard(listener),
    ]
  })
}

/** Returns SQL for whether the user may write the tables, or may create them. `schema` is quoted. */
function rightTo(schema: string, hasTables: boolean, hasSchema: boolean): string {
  const name = (suffix = ''): string => literal(`${schema}${suffix}`)
  if (hasTables) {
    const rights = tables.flatMap((table) =>
      ['SELECT', 'INSERT', 'UPDATE', 'DELETE'].map((right) => `has_table_privilege(${name(`.${table}`)}, '${right}')`),
    )
    const mayCall = `(SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc
      WHERE pronamespace = to_regnamespace(${name()}) AND proname = ANY ($3))`
    return `has_schema_privilege(${name()}::regnamespace, 'USAGE') AND ${[...rights, mayCall].join(' AND ')}`
  }
  // It takes the name without quotes.
  if (hasSchema) return `has_schema_privilege(${name()}::regnamespace, 'CREATE')`
  return "has_database_privilege(current_database(), 'CREATE')"
}

/** Returns sentences about what a crash of the server, or a failover to a standby, could lose. */
function warningsOf({ fsync, synchronous_commit: commit, standbys }: ServerSettings): readonly string[] {
  const warnings: string[] = []
  if (fsync !== 'on') warnings.push('fsync is off: a crash of the server can damage the state. Turn it on.')
  if (standbys === '')
    warnings.push(
      `synchronous_commit is ${commit}, and no standby is synchronous: a failover to a standby loses what was acknowledged in its last moments. Set synchronous_standby_names if you have a standby.`,
    )
  else if (commit === 'local')
    warnings.push(
      `synchronous_commit is local, so commits don't wait for the synchronous standby (${standbys}), and a failover loses what was acknowledged in its last moments. Set it to on.`,
    )
  else
    warnings.push(
      // The state turns it on for its own commits, see `sync_commit`.
      `synchronous_commit is ${commit === 'off' ? 'off, but on for the state' : commit}, and commits wait for the standby (${standbys}): a failover to it loses nothing.`,
    )
  return warnings
}
