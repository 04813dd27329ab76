import { StoreError } from '@reply/bridge'
import { windowParts } from '@reply/sink/internal'
import type pg from 'pg'
import type { Connection } from './connection.ts'
import { wrongIsolation } from './errors.ts'

/** How long a commit or a migration waits for a lock, in ms. Less than a caller waits for the answer. */
const lockMs = 1500

/**
 * How long a beat waits for each of its two locks, in ms. Without them, it only renews, so that no member loses its leases because
 * commits take long.
 */
const beatLockMs = 400

/**
 * The tables and functions of version 1. Keys, queues and ids are bytes (see `keyBytes`), values are text (see `packed`).
 *
 * `store_time` is the only clock: no time of a bridge decides anything. Every other function runs in one transaction, which
 * PostgreSQL makes of a single statement, so that a call is one round trip.
 *
 * Commits of a state are made one after the other, under a lock that belongs to the transaction. So each sees all those before
 * it, no two wait for each other, and who takes a lease has waited for the commits under the one before. Renewals don't wait.
 *
 * `beat` has the rules of `beatAfter` in @reply/bridge. A clause of the store's contract compares both.
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
) WITH (fillfactor = 50);

CREATE TABLE ${schema}.members (
  member text PRIMARY KEY, layout text NOT NULL, is_alone boolean NOT NULL, groups text[] NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- A member's part of a budget until expires_at, and the most calls of it that count at any time until then, which others can't have.
-- counted: those of them that surely count at expires_at, and until when each does.
CREATE TABLE ${schema}.shares (
  budget text, member text, demand bigint NOT NULL, growing bigint NOT NULL, share bigint NOT NULL, reserved bigint NOT NULL,
  expires_at timestamptz NOT NULL, window_ms float8 NOT NULL, counted bigint[] NOT NULL, counted_until timestamptz[] NOT NULL,
  PRIMARY KEY (budget, member)
) WITH (fillfactor = 50);

CREATE TABLE ${schema}.freezes (
  budget text PRIMARY KEY, since timestamptz NOT NULL, until timestamptz NOT NULL
);

-- The last batch of each store: its number, and the result of each of its commits.
CREATE TABLE ${schema}.writers (
  writer uuid PRIMARY KEY, batch bigint NOT NULL, results int[] NOT NULL, written_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION ${schema}.store_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- Waits for the commits that are being made, and holds off others until the end of the transaction. A call that waits longer
-- changes nothing, and is made again.
CREATE FUNCTION ${schema}.lock_state(most_ms int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Otherwise a transaction would not see what was committed while it waited.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION USING ERRCODE = '${wrongIsolation}', MESSAGE = current_setting('transaction_isolation');
  END IF;
  PERFORM set_config('lock_timeout', most_ms::text, true);
  PERFORM pg_advisory_xact_lock(hashtextextended(${literal(schema)}, 0));
END $$;

-- Lets the end of the transaction wait until its writes survive a crash of the machine.
CREATE FUNCTION ${schema}.sync_commit() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
END $$;

-- Sends a hint to the stores of this state once the transaction is committed.
CREATE FUNCTION ${schema}.send_hint(hint text) RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_notify(${literal(channelOf(schema))}, hint)
$$;

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

-- Makes a batch of commits, each completely or not at all, and returns one number for each: -1 for done, -2 for fenced, -3 if
-- the time until which it may be made, in ms since the epoch, is over, else the index of the write that conflicts. A batch that
-- was made before is not made again: its results are returned.
CREATE FUNCTION ${schema}.commit_batch(of_writer uuid, number bigint, commits json) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  earlier ${schema}.writers;
  made int[] := '{}';
  one record;
  w record;
  fault int;
BEGIN
  PERFORM ${schema}.sync_commit();
  PERFORM ${schema}.lock_state(${lockMs});
  SELECT * INTO earlier FROM ${schema}.writers WHERE writer = of_writer;
  IF earlier.batch = number THEN
    -- Waits as the batch itself did: after a crash of the server, it may not be on a standby yet.
    UPDATE ${schema}.writers SET written_at = ${schema}.store_time() WHERE writer = of_writer;
    RETURN earlier.results;
  END IF;
  IF earlier.batch > number THEN RAISE 'Batch % of this writer was sent after batch %.', number, earlier.batch; END IF;

  FOR one IN SELECT * FROM json_to_recordset(commits) AS c(lease bytea, holder text, fence bigint, writes json, hint text, until float8) LOOP
    IF one.lease IS NOT NULL THEN
      PERFORM 1 FROM ${schema}.leased AS l
        WHERE l.name = one.lease AND l.holder = one.holder AND l.fence = one.fence
          AND NOT ${schema}.is_expired(l.expires_at);
      IF NOT FOUND THEN
        made := made || -2;
        CONTINUE;
      END IF;
    END IF;
    IF one.until < extract(epoch FROM ${schema}.store_time()) * 1000 THEN
      made := made || -3;
      CONTINUE;
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
    IF fault = -1 AND one.hint IS NOT NULL THEN PERFORM ${schema}.send_hint(one.hint); END IF;
  END LOOP;

  INSERT INTO ${schema}.writers AS r VALUES (of_writer, number, made, ${schema}.store_time())
    ON CONFLICT (writer) DO UPDATE SET batch = number, results = made, written_at = ${schema}.store_time();
  RETURN made;
END $$;

-- Whether a time of expiry counts: it has not passed, and is not so far ahead that the clock must have been set back.
CREATE FUNCTION ${schema}.is_valid_until(at timestamptz, now timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT at > now AND at <= now + interval '60000 ms'
$$;

-- Whether a freeze counts: it has not ended, and began not so far ahead that the clock must have been set back since.
CREATE FUNCTION ${schema}.is_frozen_at(since timestamptz, until timestamptz, now timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT until > now AND since <= now + interval '60000 ms'
$$;

-- Returns why a member is refused. Null if it is admitted.
CREATE FUNCTION ${schema}.refusal_of(
  of_member text, of_layout text, wants_alone boolean, now timestamptz
) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN bool_or(wants_alone OR m.is_alone) THEN 'alone'
    WHEN bool_or(m.layout <> of_layout) THEN 'layout'
  END
  FROM ${schema}.members AS m WHERE m.member <> of_member AND ${schema}.is_valid_until(m.expires_at, now)
$$;

-- Returns a row for each name that a member wants, in their order: how many of its group the member may have and has, and
-- whether the lease is free. A group and a name have the same index in both lists. A member that has not beaten for half of for_ms
-- is probably dead or stopped, so it has no share.
CREATE FUNCTION ${schema}.wanted_leases(
  of_member text, of_groups text[], of_names bytea[], for_ms float8, now timestamptz
) RETURNS TABLE (of_group text, of_name bytea, at bigint, most bigint, held bigint, is_free boolean) LANGUAGE sql STABLE AS $$
  SELECT w.g, w.name, w.at, (w.count + others.count) / (1 + others.count),
    count(*) FILTER (WHERE l.holder = of_member) OVER (PARTITION BY w.g), l.name IS NULL
  FROM (
    SELECT g, name, at, count(*) OVER (PARTITION BY g) AS count
    FROM unnest(of_groups, of_names) WITH ORDINALITY AS u(g, name, at)
  ) AS w
  JOIN LATERAL (
    SELECT count(*) AS count FROM ${schema}.members AS m
    WHERE m.member <> of_member AND w.g = ANY (m.groups) AND ${schema}.is_valid_until(m.expires_at, now)
      AND m.expires_at > now + for_ms / 2 * interval '1 ms'
  ) AS others ON true
  LEFT JOIN ${schema}.leased AS l ON l.name = w.name AND ${schema}.is_valid_until(l.expires_at, now)
$$;

-- Returns the free leases that a member is to take.
CREATE FUNCTION ${schema}.leases_to_take(
  of_member text, of_groups text[], of_names bytea[], for_ms float8, now timestamptz
) RETURNS SETOF bytea LANGUAGE sql STABLE AS $$
  SELECT of_name FROM (
    SELECT of_name, most - held AS lacking, row_number() OVER (PARTITION BY of_group ORDER BY at) AS place
    FROM ${schema}.wanted_leases(of_member, of_groups, of_names, for_ms, now) WHERE is_free
  ) AS free WHERE place <= lacking
$$;

-- Whether a member may use its share of a budget.
CREATE FUNCTION ${schema}.is_used(r ${schema}.shares, now timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT ${schema}.is_valid_until(r.expires_at, now)
$$;

-- Returns what others can't have of a budget: the most calls of a member that count now. After its end, those that surely counted then
-- are free as they no longer do. All others may have been made right before, and stay reserved for one window.
CREATE FUNCTION ${schema}.reservation_of(r ${schema}.shares, now timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN ${schema}.is_used(r, now) THEN r.reserved
    WHEN r.expires_at > now OR r.expires_at + r.window_ms * interval '1 ms' <= now THEN 0
    ELSE (
      SELECT least(
        r.reserved,
        greatest(0, r.reserved - coalesce(sum(c.calls), 0)) + coalesce(sum(c.calls) FILTER (WHERE c.until > now), 0)
      )
      FROM unnest(r.counted, r.counted_until) AS c(calls, until)
    )
  END
$$;

-- Returns a number of calls that a member reports, as it is stored.
CREATE FUNCTION ${schema}.whole_calls(calls float8) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT least(1000000, greatest(0, ceil(calls)))::bigint
$$;

-- Gives back what a member has of a budget that it no longer uses. It stays reserved for one window.
CREATE FUNCTION ${schema}.give_back_share(of_budget text, of_member text, now timestamptz) RETURNS void LANGUAGE sql AS $$
  UPDATE ${schema}.shares AS s SET share = 0, expires_at = now
    WHERE s.budget = of_budget AND s.member = of_member AND ${schema}.is_used(s, now)
$$;

-- Replaces what a member has of budgets by its calls that count, at most what it had.
CREATE FUNCTION ${schema}.keep_counted(of_member text, used_calls json, now timestamptz) RETURNS void LANGUAGE sql AS $$
  UPDATE ${schema}.shares AS s
    SET share = 0, expires_at = now, reserved = least(s.reserved, c.calls), counted = c.counted, counted_until = c.counted_until
    FROM json_to_recordset(used_calls) AS r(b text, counted json)
    JOIN LATERAL (
      SELECT coalesce(sum(${schema}.whole_calls(u.calls)), 0) AS calls,
        coalesce(array_agg(${schema}.whole_calls(u.calls)), '{}') AS counted,
        coalesce(array_agg(now + greatest(0, u.for_ms) * interval '1 ms'), '{}') AS counted_until
      FROM json_to_recordset(r.counted) AS u(calls float8, for_ms float8)
    ) AS c ON true
    WHERE s.member = of_member AND s.budget = r.b AND r.counted IS NOT NULL AND ${schema}.is_used(s, now)
$$;

-- Divides a budget again for the beat of a member, and returns its share, what that is to be once others no longer use it, and how many
-- calls may count until the next beat.
CREATE FUNCTION ${schema}.take_share(
  of_budget text, of_member text, total bigint, most_growing bigint, of_window_ms float8, of_demand bigint, of_growing bigint,
  used bigint, used_for json, now timestamptz, for_ms float8,
  OUT part bigint, OUT target bigint, OUT most bigint, OUT lacks_calls boolean
) LANGUAGE plpgsql AS $$
DECLARE
  kept bigint;
  others bigint;
  rival record;
  for_needs numeric;
  for_texts numeric;
  rest numeric;
  demanded bigint;
  told record;
BEGIN
  SELECT coalesce(sum(${schema}.reservation_of(s, now)) FILTER (WHERE s.member <> of_member), 0),
    -- A member that expired may report calls that others were given since then.
    least(used, coalesce(sum(${schema}.reservation_of(s, now)) FILTER (WHERE s.member = of_member), 0))
    INTO others, kept FROM ${schema}.shares AS s WHERE s.budget = of_budget;
  SELECT s.demand INTO demanded FROM ${schema}.shares AS s
    WHERE s.budget = of_budget AND s.member = of_member AND ${schema}.is_used(s, now);
  -- Those that count for the whole window may be in flight, and count for longer.
  SELECT ${schema}.whole_calls(sum(u.calls)) AS calls,
    coalesce(array_agg(${schema}.whole_calls(u.calls)) FILTER (WHERE u.is_sure), '{}') AS counted,
    coalesce(array_agg(now + u.for_ms * interval '1 ms') FILTER (WHERE u.is_sure), '{}') AS counted_until
    INTO told FROM (
      SELECT r.calls, r.for_ms,
        r.for_ms < of_window_ms AND r.for_ms - of_window_ms / ${windowParts} > take_share.for_ms AS is_sure
      FROM json_to_recordset(used_for) AS r(calls float8, for_ms float8)
    ) AS u;

  -- 1 for each member, then what each demands for other calls than growing texts, then what each demands for those, and the rest
  -- evenly. Demands that are too large divide what there is.
  WITH rivals AS (
    SELECT s.member, s.demand, greatest(0, s.demand - s.growing - 1) AS needs FROM ${schema}.shares AS s
      WHERE s.budget = of_budget AND s.member <> of_member AND ${schema}.is_used(s, now)
    UNION ALL SELECT of_member, of_demand, greatest(0, of_demand - of_growing - 1)
  ), divided AS (
    SELECT r.member, r.needs, greatest(0, r.demand - 1 - r.needs) AS texts FROM rivals AS r
  ), summed AS (
    SELECT d.member, d.needs, d.texts, sum(d.needs) OVER (ORDER BY d.member COLLATE "C") AS needs_up_to,
      sum(d.texts) OVER (ORDER BY d.member COLLATE "C") AS texts_up_to,
      sum(d.needs) OVER () AS all_needs, sum(d.texts) OVER () AS all_texts,
      row_number() OVER (ORDER BY d.member COLLATE "C") AS place, count(*) OVER () AS count
    FROM divided AS d
  )
  SELECT * INTO rival FROM summed AS m WHERE m.member = of_member;
  IF total < rival.count THEN target := CASE WHEN rival.place <= total THEN 1 ELSE 0 END;
  ELSE
    for_needs := least(total - rival.count, rival.all_needs);
    for_texts := least(total - rival.count - for_needs, most_growing, rival.all_texts);
    rest := total - rival.count - for_needs - for_texts;
    target := 1
      + coalesce(
        div(for_needs * rival.needs_up_to, nullif(rival.all_needs, 0))
          - div(for_needs * (rival.needs_up_to - rival.needs), nullif(rival.all_needs, 0)), 0
      )
      + coalesce(
        div(for_texts * rival.texts_up_to, nullif(rival.all_texts, 0))
          - div(for_texts * (rival.texts_up_to - rival.texts), nullif(rival.all_texts, 0)), 0
      )
      + div(rest * rival.place, rival.count) - div(rest * (rival.place - 1), rival.count);
  END IF;
  part := greatest(0, least(target, total - others));
  most := part;
  IF used_for IS NOT NULL THEN
    most := least(
      part, greatest(coalesce(told.calls, 0) + ceil(part * 2 * for_ms / of_window_ms)::bigint, of_demand - of_growing)
    );
  END IF;
  -- Others free calls with their next beat, and the hint makes that soon. It is sent only if the demand doubled, because each member
  -- that hears it beats.
  lacks_calls := part < target AND of_demand >= coalesce(2 * greatest(1, demanded), 0);
  INSERT INTO ${schema}.shares
    VALUES (of_budget, of_member, of_demand, of_growing, part, greatest(most, kept), now + for_ms * interval '1 ms', of_window_ms,
      told.counted, told.counted_until)
    ON CONFLICT (budget, member) DO UPDATE SET demand = excluded.demand, growing = excluded.growing, share = excluded.share,
      reserved = excluded.reserved, expires_at = excluded.expires_at, window_ms = excluded.window_ms,
      counted = excluded.counted, counted_until = excluded.counted_until;
END $$;

-- Gets the lock under which members are admitted and budgets are divided. Returns false if that takes too long.
CREATE FUNCTION ${schema}.try_lock_members() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('lock_timeout', '${beatLockMs}', true);
  PERFORM pg_advisory_xact_lock(hashtextextended(${literal(`${schema}/members`)}, 0));
  RETURN true;
EXCEPTION WHEN lock_not_available THEN RETURN false;
END $$;

-- Like lock_state. Returns false if that takes too long.
CREATE FUNCTION ${schema}.try_lock_state() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM ${schema}.lock_state(${beatLockMs});
  RETURN true;
EXCEPTION WHEN lock_not_available THEN RETURN false;
END $$;

-- Admits or renews a member, its leases and its shares, and takes free leases up to its share.
CREATE FUNCTION ${schema}.beat(
  of_member text, for_ms float8, of_layout text, wants_alone boolean, of_groups text[], of_names bytea[], budgets json
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  now timestamptz := ${schema}.store_time();
  until timestamptz;
  refusal text;
  is_member boolean;
  is_state_locked boolean := false;
  is_locked boolean;
  taken bigint := 0;
  b record;
  part bigint;
  target bigint;
  allowed bigint;
  lacks_calls boolean;
  parts json[] := '{}';
  frozen_until timestamptz;
BEGIN
  -- The lock of the state comes first, so that no member waits for the commits that another one waits for.
  refusal := ${schema}.refusal_of(of_member, of_layout, wants_alone, now);
  IF refusal IS NOT NULL THEN RETURN json_build_object('refused', refusal); END IF;
  IF EXISTS (SELECT ${schema}.leases_to_take(of_member, of_groups, of_names, for_ms, now)) THEN
    is_state_locked := ${schema}.try_lock_state();
  END IF;
  is_locked := ${schema}.try_lock_members();
  now := ${schema}.store_time();
  until := now + for_ms * interval '1 ms';
  refusal := ${schema}.refusal_of(of_member, of_layout, wants_alone, now);
  IF refusal IS NOT NULL THEN RETURN json_build_object('refused', refusal); END IF;

  UPDATE ${schema}.members SET expires_at = until
    WHERE member = of_member AND ${schema}.is_valid_until(expires_at, now);
  is_member := FOUND;
  UPDATE ${schema}.leased SET expires_at = until
    WHERE holder = of_member AND ${schema}.is_valid_until(expires_at, now);
  IF is_locked THEN
    DELETE FROM ${schema}.members WHERE NOT ${schema}.is_valid_until(expires_at, now) AND member <> of_member;
    INSERT INTO ${schema}.members AS m
      VALUES (of_member, of_layout, wants_alone, ARRAY(SELECT DISTINCT unnest(of_groups)), until)
      ON CONFLICT (member) DO UPDATE
        SET layout = excluded.layout, is_alone = excluded.is_alone, groups = excluded.groups, expires_at = until;
  ELSIF NOT is_member THEN
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available', MESSAGE = 'other members are being admitted';
  END IF;
  -- A lease that became free since then is taken with the next beat.
  IF is_locked AND is_state_locked THEN
    INSERT INTO ${schema}.leased AS l
      SELECT name, of_member, 1, until FROM ${schema}.leases_to_take(of_member, of_groups, of_names, for_ms, now) AS t(name)
      ON CONFLICT (name) DO UPDATE SET holder = of_member, fence = l.fence + 1, expires_at = until
        WHERE NOT ${schema}.is_valid_until(l.expires_at, now);
    GET DIAGNOSTICS taken = ROW_COUNT;
  END IF;
  -- A crash of the machine may undo a renewal.
  IF taken > 0 OR NOT is_member THEN PERFORM ${schema}.sync_commit();
  ELSE PERFORM set_config('synchronous_commit', 'off', true);
  END IF;

  IF is_locked THEN
    PERFORM ${schema}.give_back_share(s.budget, of_member, now) FROM ${schema}.shares AS s
      WHERE s.member = of_member AND s.budget <> ALL (ARRAY(SELECT r.b FROM json_to_recordset(budgets) AS r(b text)));
    DELETE FROM ${schema}.freezes AS f WHERE NOT ${schema}.is_frozen_at(f.since, f.until, now);
    -- Of all budgets, also of those that no member names any more.
    DELETE FROM ${schema}.shares AS s WHERE NOT (${schema}.is_used(s, now) OR ${schema}.reservation_of(s, now) > 0);
  END IF;
  FOR b IN
    SELECT * FROM json_to_recordset(budgets)
      AS r(
        b text, total float8, most_growing float8, window_ms float8, demand float8, growing float8, used float8, used_for json,
        freeze_ms float8
      )
  LOOP
    IF is_locked THEN
      SELECT t.part, t.target, t.most, t.lacks_calls INTO part, target, allowed, lacks_calls FROM ${schema}.take_share(
        b.b, of_member, greatest(0, floor(b.total))::bigint,
        greatest(0, floor(coalesce(b.most_growing, b.total)))::bigint, b.window_ms,
        ${schema}.whole_calls(b.demand),
        least(${schema}.whole_calls(coalesce(b.growing, b.demand)), ${schema}.whole_calls(b.demand)),
        ${schema}.whole_calls(b.used), b.used_for, now, for_ms
      ) AS t;
      IF lacks_calls THEN PERFORM ${schema}.send_hint('demand'); END IF;
    ELSE
      -- It is not known which calls count when it now expires.
      UPDATE ${schema}.shares SET expires_at = until, counted = '{}', counted_until = '{}'
        WHERE budget = b.b AND member = of_member AND ${schema}.is_valid_until(expires_at, now)
        RETURNING share, share, reserved INTO part, target, allowed;
    END IF;
    IF b.freeze_ms > 0 THEN
      INSERT INTO ${schema}.freezes AS f VALUES (b.b, now, now + b.freeze_ms * interval '1 ms')
        ON CONFLICT (budget) DO UPDATE SET since = now, until = excluded.until
          WHERE f.until < excluded.until OR NOT ${schema}.is_frozen_at(f.since, f.until, now);
      IF FOUND THEN PERFORM ${schema}.send_hint('frozen'); END IF;
    END IF;
    SELECT f.until INTO frozen_until FROM ${schema}.freezes AS f
      WHERE f.budget = b.b AND ${schema}.is_frozen_at(f.since, f.until, now);
    parts := parts || json_build_object(
      'b', b.b, 'share', coalesce(part, 0), 'target', coalesce(target, 0), 'most', coalesce(allowed, 0),
      'frozen', greatest(0, extract(epoch FROM coalesce(frozen_until, now) - now) * 1000)
    );
  END LOOP;

  RETURN json_build_object(
    'leases', (
      SELECT json_agg(json_build_object('name', encode(name, 'hex'), 'fence', fence) ORDER BY name)
      FROM ${schema}.leased WHERE holder = of_member AND ${schema}.is_valid_until(expires_at, now)
    ),
    'excess', (
      SELECT json_agg(json_build_object('g', w.of_group, 'count', w.held - w.most))
      FROM (
        SELECT DISTINCT of_group, held, most FROM ${schema}.wanted_leases(of_member, of_groups, of_names, for_ms, now)
      ) AS w WHERE w.held > w.most
    ),
    'others', (
      SELECT count(*) FROM ${schema}.members AS m
      WHERE m.member <> of_member AND m.groups <> '{}' AND ${schema}.is_valid_until(m.expires_at, now)
    ),
    'budgets', parts
  );
END $$;

-- Removes a member, ends its leases and gives back its shares.
CREATE FUNCTION ${schema}.leave(of_member text, used_calls json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  now timestamptz := ${schema}.store_time();
BEGIN
  DELETE FROM ${schema}.members WHERE member = of_member;
  UPDATE ${schema}.leased SET expires_at = '-infinity' WHERE holder = of_member AND expires_at > '-infinity';
  PERFORM ${schema}.keep_counted(of_member, used_calls, now);
  PERFORM ${schema}.give_back_share(s.budget, of_member, now) FROM ${schema}.shares AS s WHERE s.member = of_member;
  PERFORM ${schema}.send_hint('free');
END $$;

-- Ends a lease.
CREATE FUNCTION ${schema}.release_lease(of_name bytea, of_holder text, of_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE ${schema}.leased SET expires_at = '-infinity'
    WHERE name = of_name AND holder = of_holder AND fence = of_fence AND expires_at > ${schema}.store_time();
  IF FOUND THEN PERFORM ${schema}.send_hint('free'); END IF;
END $$;
`

/** Returns the channel of NOTIFY for the hints of a state, whose schema is quoted: the name of the schema. */
export function channelOf(schema: string): string {
  return schema.slice(1, -1).replaceAll('""', '"')
}

/** Returns a text as a literal of SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** One version of the tables and functions, made from the one before. */
interface Migration {
  /** Returns the SQL for a quoted schema. It only adds, because bridges of the version before may run meanwhile. */
  readonly sql: (schema: string) => string
  /** The lowest version of this package that can still use the state afterwards. At most the one before. */
  readonly minReader: number
}

/**
 * The migration to each version, from version 1. Append to it, and never change an entry: `test/versions` has the SQL of each as it
 * was recorded, and what bridges send. CONTRIBUTING.md says how to add one.
 */
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
