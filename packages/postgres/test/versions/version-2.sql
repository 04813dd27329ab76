
-- Until when a limit stops a chat of the member that may be the limit of all. NULL: none, or a member that doesn't tell.
ALTER TABLE "reply".shares ADD COLUMN chat_frozen_until timestamptz;

-- Divides a budget again for the beat of a member, and returns its share, and what that is to be once others no longer use it.
CREATE FUNCTION "reply".divide_budget(
  of_budget text, of_member text, total bigint, most_growing bigint, of_window_ms float8, of_demand bigint, of_growing bigint,
  used bigint, now timestamptz, until timestamptz, most_needed bigint, of_chat_frozen_until timestamptz,
  OUT part bigint, OUT target bigint, OUT lacks_calls boolean
) LANGUAGE plpgsql AS $$
DECLARE
  has_calls boolean;
  began timestamptz;
  kept bigint;
  free bigint;
  has_others boolean;
  has_crashed boolean;
  rival record;
  for_needs numeric;
  for_texts numeric;
  rest numeric;
  demanded bigint;
  used_since timestamptz;
BEGIN
  -- What a dead member had is forgotten if no living one has calls and all of them began after it made its last beat.
  SELECT bool_or("reply".reservation_of(s, now) > 0 AND (s.member = of_member OR "reply".is_used(s, now))),
    least(now, min(s.since) FILTER (WHERE "reply".is_used(s, now)))
    INTO has_calls, began FROM "reply".shares AS s WHERE s.budget = of_budget;
  IF NOT has_calls THEN
    DELETE FROM "reply".shares AS s WHERE s.budget = of_budget AND NOT s.is_counted
      AND NOT "reply".is_used(s, now) AND s.expires_at < began + (until - now);
  END IF;

  SELECT total - coalesce(sum("reply".reservation_of(s, now)) FILTER (WHERE s.member <> of_member), 0),
    coalesce(bool_or(s.member <> of_member), false),
    coalesce(bool_or(s.member <> of_member AND NOT s.is_counted AND NOT "reply".is_used(s, now)), false),
    -- A member that expired may report calls that others were given since then.
    least(used, coalesce(sum("reply".reservation_of(s, now)) FILTER (WHERE s.member = of_member), 0))
    INTO free, has_others, has_crashed, kept FROM "reply".shares AS s WHERE s.budget = of_budget;
  SELECT s.demand, s.since INTO demanded, used_since FROM "reply".shares AS s
    WHERE s.budget = of_budget AND s.member = of_member AND "reply".is_used(s, now);

  -- 1 for each member, then what each demands for other calls than growing texts, then what each demands for those, and the rest
  -- evenly. Demands that are too large divide what there is.
  WITH rivals AS (
    SELECT s.member, s.demand, greatest(0, s.demand - s.growing - 1) AS needs FROM "reply".shares AS s
      WHERE s.budget = of_budget AND s.member <> of_member AND "reply".is_used(s, now)
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
  -- A bridge that crashes again and again would have a call that it does not need reserved for each of its lives.
  IF has_crashed AND of_demand = 0 AND coalesce(used_since, now) + of_window_ms * interval '1 ms' > now AND most_needed IS NOT NULL THEN
    part := 0;
  ELSE part := greatest(0, least(target, free, CASE WHEN has_others THEN most_needed END));
  END IF;
  -- Others free calls with their next beat, and the hint makes that soon. It is sent only if the demand doubled, because each member
  -- that hears it beats.
  lacks_calls := part < least(target, most_needed) AND of_demand >= coalesce(2 * greatest(1, demanded), 0);
  INSERT INTO "reply".shares
    VALUES (of_budget, of_member, of_demand, of_growing, part, greatest(part, kept), coalesce(used_since, now), until,
      of_window_ms, false, of_chat_frozen_until)
    ON CONFLICT (budget, member) DO UPDATE SET demand = excluded.demand, growing = excluded.growing, share = excluded.share,
      reserved = excluded.reserved, since = excluded.since, expires_at = excluded.expires_at, window_ms = excluded.window_ms,
      chat_frozen_until = excluded.chat_frozen_until;
END $$;

-- Admits or renews a member, its leases and its shares, and takes free leases up to its share.
CREATE OR REPLACE FUNCTION "reply".beat(
  of_member text, for_ms float8, of_layout text, wants_alone boolean, of_groups text[], of_names bytea[], budgets json
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  now timestamptz := "reply".store_time();
  until timestamptz;
  refusal text;
  is_member boolean;
  is_state_locked boolean := false;
  is_locked boolean;
  taken bigint := 0;
  b record;
  part bigint;
  target bigint;
  lacks_calls boolean;
  parts json[] := '{}';
  frozen_until timestamptz;
BEGIN
  -- The lock of the state comes first, so that no member waits for the commits that another one waits for.
  refusal := "reply".refusal_of(of_member, of_layout, wants_alone, now);
  IF refusal IS NOT NULL THEN RETURN json_build_object('refused', refusal); END IF;
  IF EXISTS (SELECT "reply".leases_to_take(of_member, of_groups, of_names, now)) THEN
    is_state_locked := "reply".try_lock_state();
  END IF;
  is_locked := "reply".try_lock_members();
  now := "reply".store_time();
  until := now + for_ms * interval '1 ms';
  refusal := "reply".refusal_of(of_member, of_layout, wants_alone, now);
  IF refusal IS NOT NULL THEN RETURN json_build_object('refused', refusal); END IF;

  UPDATE "reply".members SET expires_at = until
    WHERE member = of_member AND "reply".is_valid_until(expires_at, now);
  is_member := FOUND;
  UPDATE "reply".leased SET expires_at = until
    WHERE holder = of_member AND "reply".is_valid_until(expires_at, now);
  IF is_locked THEN
    DELETE FROM "reply".members WHERE NOT "reply".is_valid_until(expires_at, now) AND member <> of_member;
    INSERT INTO "reply".members AS m
      VALUES (of_member, of_layout, wants_alone, ARRAY(SELECT DISTINCT unnest(of_groups)), until)
      ON CONFLICT (member) DO UPDATE
        SET layout = excluded.layout, is_alone = excluded.is_alone, groups = excluded.groups, expires_at = until;
  ELSIF NOT is_member THEN
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available', MESSAGE = 'other members are being admitted';
  END IF;
  -- A lease that became free since then is taken with the next beat.
  IF is_locked AND is_state_locked THEN
    INSERT INTO "reply".leased AS l
      SELECT name, of_member, 1, until FROM "reply".leases_to_take(of_member, of_groups, of_names, now) AS t(name)
      ON CONFLICT (name) DO UPDATE SET holder = of_member, fence = l.fence + 1, expires_at = until
        WHERE NOT "reply".is_valid_until(l.expires_at, now);
    GET DIAGNOSTICS taken = ROW_COUNT;
  END IF;
  -- A crash of the machine may undo a renewal.
  IF taken > 0 OR NOT is_member THEN PERFORM "reply".sync_commit();
  ELSE PERFORM set_config('synchronous_commit', 'off', true);
  END IF;

  IF is_locked THEN
    PERFORM "reply".give_back_share(s.budget, of_member, now) FROM "reply".shares AS s
      WHERE s.member = of_member AND s.budget <> ALL (ARRAY(SELECT r.b FROM json_to_recordset(budgets) AS r(b text)));
    DELETE FROM "reply".freezes AS f WHERE NOT "reply".is_frozen_at(f.since, f.until, now);
    -- Of all budgets, also of those that no member names any more.
    DELETE FROM "reply".shares AS s WHERE NOT ("reply".is_used(s, now) OR "reply".reservation_of(s, now) > 0);
  END IF;
  FOR b IN
    SELECT * FROM json_to_recordset(budgets)
      AS r(
        b text, total float8, most_growing float8, window_ms float8, demand float8, growing float8, used float8, freeze_ms float8,
        most_needed float8, chat_freeze_ms float8
      )
  LOOP
    IF is_locked THEN
      SELECT t.part, t.target, t.lacks_calls INTO part, target, lacks_calls FROM "reply".divide_budget(
        b.b, of_member, greatest(0, floor(b.total))::bigint,
        greatest(0, floor(coalesce(b.most_growing, b.total)))::bigint, b.window_ms,
        "reply".whole_calls(b.demand),
        least("reply".whole_calls(coalesce(b.growing, b.demand)), "reply".whole_calls(b.demand)),
        "reply".whole_calls(b.used), now, until,
        CASE WHEN b.most_needed IS NOT NULL THEN "reply".whole_calls(b.most_needed) END, now + b.chat_freeze_ms * interval '1 ms'
      ) AS t;
      IF lacks_calls THEN PERFORM "reply".send_hint('demand'); END IF;
    ELSE
      UPDATE "reply".shares SET expires_at = until
        WHERE budget = b.b AND member = of_member AND "reply".is_valid_until(expires_at, now)
        RETURNING share, share INTO part, target;
    END IF;
    IF b.freeze_ms > 0 THEN
      INSERT INTO "reply".freezes AS f VALUES (b.b, now, now + b.freeze_ms * interval '1 ms')
        ON CONFLICT (budget) DO UPDATE SET since = now, until = excluded.until
          WHERE f.until < excluded.until OR NOT "reply".is_frozen_at(f.since, f.until, now);
      IF FOUND THEN PERFORM "reply".send_hint('frozen'); END IF;
    END IF;
    INSERT INTO "reply".freezes
      SELECT b.b, now, now + b.chat_freeze_ms * interval '1 ms'
        WHERE b.chat_freeze_ms > 0 AND EXISTS (
          SELECT FROM "reply".shares AS s
            WHERE s.budget = b.b AND s.member <> of_member AND "reply".is_used(s, now) AND s.chat_frozen_until > now
        )
      ON CONFLICT (budget) DO UPDATE SET since = now, until = excluded.until
        WHERE NOT "reply".is_frozen_at(freezes.since, freezes.until, now);
    IF FOUND THEN PERFORM "reply".send_hint('frozen'); END IF;
    SELECT f.until INTO frozen_until FROM "reply".freezes AS f
      WHERE f.budget = b.b AND "reply".is_frozen_at(f.since, f.until, now);
    parts := parts || json_build_object(
      'b', b.b, 'share', coalesce(part, 0), 'target', coalesce(target, 0),
      'frozen', greatest(0, extract(epoch FROM coalesce(frozen_until, now) - now) * 1000)
    );
  END LOOP;

  RETURN json_build_object(
    'leases', (
      SELECT json_agg(json_build_object('name', encode(name, 'hex'), 'fence', fence) ORDER BY name)
      FROM "reply".leased WHERE holder = of_member AND "reply".is_valid_until(expires_at, now)
    ),
    'excess', (
      SELECT json_agg(json_build_object('g', w.of_group, 'count', w.held - w.most))
      FROM (
        SELECT DISTINCT of_group, held, most FROM "reply".wanted_leases(of_member, of_groups, of_names, now)
      ) AS w WHERE w.held > w.most
    ),
    'others', (
      SELECT count(*) FROM "reply".members AS m
      WHERE m.member <> of_member AND m.groups <> '{}' AND "reply".is_valid_until(m.expires_at, now)
    ),
    'budgets', parts
  );
END $$;

