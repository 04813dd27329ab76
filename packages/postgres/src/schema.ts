import { StoreError } from '@reply/bridge'
import type pg from 'pg'
import type { Connection } from './connection.ts'
import { wrongIsolation } from './errors.ts'

/**
 * How long a function or a migration waits for a lock, in ms. Less than a caller waits for the answer, other than at its first try
 * to take a lease, whose second try then finds the lease taken.
 */
const lockMs = 1500

/**
 * The tables and functions of version 1. Keys, queues and ids are bytes (see `keyBytes`), values are text (see `packed`).
 *
 * `store_time` is the only clock: no time of a bridge decides anything. Every other function runs in one transaction, which
 * PostgreSQL makes of a single statement, so that a call is one round trip.
 *
 * Commits of a state are made one after the other, under a lock that belongs to the transaction. So each sees all those before
 * it, no two wait for each other, and who takes a lease has waited for the commits under the one before. Renewals don't wait.
 */
const version1 = (schema: string): string => `
CREATE TABLE ${schema}.stored (key bytea PRIMARY KEY, value text NOT NULL, expires_at timestamptz);
CREATE INDEX stored_by_expiry ON ${schema}.stored (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE ${schema}.queued (
  queue bytea NOT NULL, position bigint GENERATED ALWAYS AS IDENTITY, id bytea NOT NULL, value text NOT NULL,
  PRIMARY KEY (queue, position), UNIQUE (queue, id)
);

CREATE TABLE ${schema}.leased (
  name bytea PRIMARY KEY, holder text NOT NULL, fence bigint NOT NULL, expires_at timestamptz NOT NULL
);

-- The last batch of each store: its number, and the result of each of its commits.
CREATE TABLE ${schema}.writers (
  writer uuid PRIMARY KEY, batch bigint NOT NULL, results int[] NOT NULL, written_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION ${schema}.store_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- Waits for the commits that are being made, and holds off others until the end of the transaction. A call that waits longer
-- changes nothing, and is made again.
CREATE FUNCTION ${schema}.lock_state() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Otherwise a transaction would not see what was committed while it waited.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION USING ERRCODE = '${wrongIsolation}', MESSAGE = current_setting('transaction_isolation');
  END IF;
  PERFORM set_config('lock_timeout', '${lockMs}', true);
  PERFORM pg_advisory_xact_lock(hashtextextended(${literal(schema)}, 0));
END $$;

-- Lets the end of the transaction wait until its writes survive a crash of the machine.
CREATE FUNCTION ${schema}.sync_commit() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
END $$;

CREATE FUNCTION ${schema}.is_expired(at timestamptz) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT at IS NOT NULL AND at <= ${schema}.store_time()
$$;

-- Applies one write. Returns false if it conflicts.
CREATE FUNCTION ${schema}.apply_write(
  kind text, k bytea, i bytea, v text, x text, expires_in_ms float8
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  expires timestamptz := ${schema}.store_time() + expires_in_ms * interval '1 ms';
BEGIN
  CASE kind
    WHEN 'put' THEN
      INSERT INTO ${schema}.stored AS s (key, value, expires_at) VALUES (k, v, expires)
        ON CONFLICT (key) DO UPDATE SET value = v, expires_at = expires;
    WHEN 'put-if-absent' THEN
      INSERT INTO ${schema}.stored AS s (key, value, expires_at) VALUES (k, v, expires)
        ON CONFLICT (key) DO UPDATE SET value = v, expires_at = expires WHERE ${schema}.is_expired(s.expires_at);
    WHEN 'remove' THEN
      DELETE FROM ${schema}.stored WHERE key = k;
      RETURN true;
    WHEN 'replace-value' THEN
      UPDATE ${schema}.stored SET value = v, expires_at = expires
        WHERE key = k AND value = x AND NOT ${schema}.is_expired(expires_at);
    WHEN 'remove-value' THEN
      DELETE FROM ${schema}.stored WHERE key = k AND value = x AND NOT ${schema}.is_expired(expires_at);
    WHEN 'require-absent' THEN
      PERFORM 1 FROM ${schema}.stored WHERE key = k AND NOT ${schema}.is_expired(expires_at);
      RETURN NOT FOUND;
    WHEN 'enqueue' THEN
      INSERT INTO ${schema}.queued (queue, id, value) VALUES (k, i, v) ON CONFLICT (queue, id) DO NOTHING;
    WHEN 'replace' THEN
      UPDATE ${schema}.queued SET value = v WHERE queue = k AND id = i;
    WHEN 'dequeue' THEN
      DELETE FROM ${schema}.queued WHERE queue = k AND id = i;
  END CASE;
  RETURN FOUND;
END $$;

-- Makes a batch of commits, each completely or not at all, and returns one number for each: -1 for done, -2 for fenced, else
-- the index of the write that conflicts. A batch that was made before is not made again: its results are returned.
CREATE FUNCTION ${schema}.commit_batch(
  of_writer uuid, number bigint, is_synced boolean, commits json
) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  earlier ${schema}.writers;
  made int[] := '{}';
  one record;
  w record;
  fault int;
BEGIN
  IF is_synced THEN PERFORM ${schema}.sync_commit();
  ELSE PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  PERFORM ${schema}.lock_state();
  SELECT * INTO earlier FROM ${schema}.writers WHERE writer = of_writer;
  IF earlier.batch = number THEN
    -- Waits as the batch itself did: after a crash of the server, it may not be on a standby yet.
    UPDATE ${schema}.writers SET written_at = ${schema}.store_time() WHERE writer = of_writer;
    RETURN earlier.results;
  END IF;
  IF earlier.batch > number THEN RAISE 'Batch % of this writer was sent after batch %.', number, earlier.batch; END IF;

  FOR one IN SELECT * FROM json_to_recordset(commits) AS c(lease bytea, holder text, fence bigint, writes json) LOOP
    IF one.lease IS NOT NULL THEN
      PERFORM 1 FROM ${schema}.leased AS l
        WHERE l.name = one.lease AND l.holder = one.holder AND l.fence = one.fence
          AND NOT ${schema}.is_expired(l.expires_at);
      IF NOT FOUND THEN
        made := made || -2;
        CONTINUE;
      END IF;
    END IF;
    fault := -1;
    BEGIN
      FOR w IN
        SELECT * FROM json_to_recordset(one.writes)
          AS r(n int, t text, k bytea, i bytea, v text, x text, e float8)
      LOOP
        IF NOT ${schema}.apply_write(w.t, w.k, w.i, w.v, w.x, w.e) THEN
          fault := w.n;
          RAISE EXCEPTION USING ERRCODE = 'RCONF';
        END IF;
      END LOOP;
    EXCEPTION WHEN SQLSTATE 'RCONF' THEN NULL;
    END;
    made := made || fault;
  END LOOP;

  INSERT INTO ${schema}.writers AS r VALUES (of_writer, number, made, ${schema}.store_time())
    ON CONFLICT (writer) DO UPDATE SET batch = number, results = made, written_at = ${schema}.store_time();
  RETURN made;
END $$;

-- Renews the lease of its holder, or takes one that is free or expired. Returns its fence, or null while another holds it.
CREATE FUNCTION ${schema}.take_lease(of_name bytea, of_holder text, for_ms float8) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  -- A lease that would run for longer was taken before the server's clock was set back.
  longest interval := greatest(60000, for_ms) * interval '1 ms';
  result bigint;
  now timestamptz;
BEGIN
  PERFORM set_config('lock_timeout', '${lockMs}', true);
  FOR attempt IN 1..2 LOOP
    now := ${schema}.store_time();
    UPDATE ${schema}.leased SET expires_at = now + for_ms * interval '1 ms'
      WHERE name = of_name AND holder = of_holder AND expires_at > now AND expires_at <= now + longest
      RETURNING fence INTO result;
    IF FOUND THEN
      -- A crash of the machine may undo a renewal.
      PERFORM set_config('synchronous_commit', 'off', true);
      RETURN result;
    END IF;
    PERFORM 1 FROM ${schema}.leased WHERE name = of_name AND expires_at > now AND expires_at <= now + longest;
    IF FOUND THEN RETURN NULL; END IF;
    -- Waits for the commits of the last holder, and then looks again, because another may have taken the lease meanwhile.
    IF attempt = 1 THEN PERFORM ${schema}.lock_state(); END IF;
  END LOOP;
  PERFORM ${schema}.sync_commit();
  INSERT INTO ${schema}.leased AS l VALUES (of_name, of_holder, 1, now + for_ms * interval '1 ms')
    ON CONFLICT (name) DO UPDATE
      SET holder = of_holder, fence = l.fence + 1, expires_at = now + for_ms * interval '1 ms'
    RETURNING fence INTO result;
  RETURN result;
END $$;
`

/** Returns a text as a literal of SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** One version of the tables and functions, made from the one before. */
interface Migration {
  /** Returns the SQL for a quoted schema. It only adds, because bridges of the version before may run meanwhile. */
  readonly sql: (schema: string) => string
  /** The lowest version of this package that can still use the state afterwards. */
  readonly minReader: number
}

/** The migration to each version, from version 1. Append to it, and never change a released entry. */
export const migrations: readonly Migration[] = [{ sql: version1, minReader: 1 }]

/** The oldest version of PostgreSQL that a state can be in: 13. */
const minServerVersion = 130_000

/** The version of a state, and the lowest version of this package that can use it. */
interface StateVersion {
  readonly version: number
  readonly min_reader: number
}

/**
 * Creates the tables and functions in a schema, or migrates those of an earlier version. Rejects with a `StoreError` of type
 * `newer` if this version can no longer use them, and changes nothing then. Rejects with errors of `pg`.
 */
export async function migrate(connection: Connection, schema: string, steps = migrations): Promise<void> {
  await requireServer(connection)
  if ((await versionOf(connection, schema, steps))?.version === steps.length) return
  const run = async (sql: string, ...values: readonly unknown[]): Promise<void> => {
    await connection.query(sql, values, migrateMs)
  }
  await run('BEGIN')
  try {
    // Another bridge may migrate it at the same time.
    await run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `${schema}/migrate`)
    // A bridge that runs would wait behind it, for example for the end of a backup.
    await run(`SET LOCAL lock_timeout = ${lockMs}`)
    const present = await versionOf(connection, schema, steps)
    // It requires a right on the database, which a schema of the operator does not.
    if (!(await hasSchema(connection, schema))) await run(`CREATE SCHEMA ${schema}`)
    if (!present) await run(`CREATE TABLE ${schema}.state_version (version int NOT NULL, min_reader int NOT NULL)`)
    const missing = steps.slice(present?.version ?? 0)
    for (const { sql } of missing) await run(sql(schema))
    if (missing.length > 0) {
      await run(`DELETE FROM ${schema}.state_version`)
      await run(`INSERT INTO ${schema}.state_version VALUES ($1, $2)`, steps.length, steps.at(-1)?.minReader)
    }
    await run('COMMIT')
  } catch (error) {
    // The connection may be lost, and the server then rolls back by itself.
    await run('ROLLBACK').catch(() => {})
    throw error
  }
}

/** How long one step of a migration may take, in ms. */
const migrateMs = 60_000
/** How long a read of the catalog may take, in ms. */
export const readMs = 10_000

/**
 * Resolves with the version of the server. Rejects with a `StoreError` if it is too old, can't store every character, or isolates
 * transactions in a way in which one that waited doesn't see what was committed meanwhile.
 */
export async function requireServer(connection: Connection): Promise<string> {
  const [found] = await connection.query<ServerKind & pg.QueryResultRow>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version,
      current_setting('server_encoding') AS encoding, current_setting('transaction_isolation') AS isolation`,
    [],
    readMs,
  )
  const { number = 0, version = '', encoding = '', isolation = '' } = found ?? {}
  if (number < minServerVersion)
    throw new StoreError('failed', `PostgreSQL ${version} is too old for the state. Use version 13 or newer.`)
  if (encoding !== 'UTF8')
    throw new StoreError('failed', `The database has the encoding ${encoding}. Create one with the encoding UTF8.`)
  if (isolation !== 'read committed')
    throw new StoreError(
      'failed',
      `The user of the database has default_transaction_isolation = '${isolation}'. Set it to 'read committed'.`,
    )
  return version
}

/** What a server must be like. */
interface ServerKind {
  /** The version as a number, for example 170002. */
  readonly number: number
  readonly version: string
  readonly encoding: string
  readonly isolation: string
}

/**
 * Resolves with the version of the state in a schema. Undefined if there is none. Rejects with a `StoreError` if this version of
 * the package can't use it, or if the row with the version is not one of ours.
 */
export async function versionOf(
  connection: Connection,
  schema: string,
  steps = migrations,
): Promise<StateVersion | undefined> {
  const isNamed = `${inQuotes} = $1 AND relname = 'state_version'`
  const sql = `SELECT 1 FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid WHERE ${isNamed}`
  if ((await connection.query(sql, [schema], readMs)).length === 0) return undefined
  const [found, ...others] = await connection.query<StateVersion & pg.QueryResultRow>(
    `SELECT version, min_reader FROM ${schema}.state_version`,
    [],
    readMs,
  )
  // One row is written with the tables, in their transaction.
  if (!found || others.length > 0 || found.version < 1)
    throw new StoreError(
      'failed',
      `The version of the state in the schema ${schema} was changed or deleted. Restore a backup, or name another schema.`,
    )
  if (found.min_reader > steps.length)
    throw new StoreError(
      'newer',
      `The state in the schema ${schema} has version ${found.version}, and this bridge knows up to ${steps.length}. Install the newer bridge again, or name another schema.`,
    )
  return found
}

/** Whether a schema exists. */
export async function hasSchema(connection: Connection, schema: string): Promise<boolean> {
  return (await connection.query(`SELECT 1 FROM pg_namespace WHERE ${inQuotes} = $1`, [schema], readMs)).length > 0
}

/**
 * The name of a schema as we quote it. `to_regclass` and `to_regnamespace` would take quoted names, but they may answer from a
 * cache that does not know what another transaction committed while this one waited for a lock.
 */
const inQuotes = `'"' || replace(nspname, '"', '""') || '"'`
