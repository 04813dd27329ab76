import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { migrations } from '../src/schema.ts'
import { migrateTo, namesIn, recordCalls, recordedSql, recordings, replay } from './versions/recorded-version.ts'

const newest = migrations.length
const { minReader: oldest = 1 } = migrations.at(-1) ?? {}
/** Those of bridges that may run beside one of this version. */
const supported = recordings().filter(({ version }) => version >= oldest)
const [last] = recordings().slice(-1)

/** A next version that adds to each kind of thing. It shows what a version may do. */
const expanding = {
  minReader: newest,
  sql: (schema: string) => `
ALTER TABLE ${schema}.stored ADD COLUMN written_by text;
ALTER TABLE ${schema}.shares ADD COLUMN note text NOT NULL DEFAULT '';
CREATE TABLE ${schema}.notes (note text PRIMARY KEY);
CREATE FUNCTION ${schema}.leave_with_note(of_member text, used_calls json, note text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ${schema}.notes VALUES (note) ON CONFLICT DO NOTHING;
  PERFORM ${schema}.leave(of_member, used_calls);
END $$;
CREATE OR REPLACE FUNCTION ${schema}.release_lease(of_name bytea, of_holder text, of_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  now timestamptz := ${schema}.store_time();
BEGIN
  UPDATE ${schema}.leased AS l SET expires_at = '-infinity'
    WHERE l.name = of_name AND l.holder = of_holder AND l.fence = of_fence AND l.expires_at > now;
  IF FOUND THEN PERFORM ${schema}.send_hint('free'); END IF;
END $$;`,
}

/** Versions that a bridge of this one would not survive, or would be misled by. */
const breaking: Readonly<Record<string, string>> = {
  'another name of a column': 'ALTER TABLE "reply".queued RENAME COLUMN value TO entry',
  'a column that must be set': `ALTER TABLE "reply".stored ADD COLUMN kind text; UPDATE "reply".stored SET kind = ''; ALTER TABLE "reply".stored ALTER COLUMN kind SET NOT NULL`,
  'another name of a function': 'ALTER FUNCTION "reply".leave(text, json) RENAME TO part',
  'a second function that may be meant':
    'CREATE FUNCTION "reply".leave(of_member text, used_calls text) RETURNS void LANGUAGE sql AS $$ SELECT $$',
  'another meaning of a function':
    'CREATE OR REPLACE FUNCTION "reply".is_expired(at timestamptz) RETURNS boolean LANGUAGE sql VOLATILE AS $$ SELECT false $$',
  'another form of values': `UPDATE "reply".stored SET value = '{}'`,
}

describe('the versions of the tables', () => {
  test('are recorded, and stay as they were recorded', () => {
    for (const [index, { sql }] of migrations.entries())
      expect(recordedSql(index + 1), 'Add a version and record it, and leave those before.').toBe(sql('"reply"'))
  })

  test('can each be used by a bridge of the version before', () => {
    for (const [index, { minReader }] of migrations.entries()) expect(minReader).toBeLessThanOrEqual(Math.max(1, index))
  })
})

describe.skipIf(!hasPostgres())(`a bridge of an older version (${needsPostgres})`, () => {
  const emptyDatabase = async (): Promise<string> => await (await sharedPostgres()).createDatabase()

  test('is recorded: what this one sends is what the last recording has', async () => {
    const sent = await recordCalls(await emptyDatabase())
    expect(sent, 'Add a recording. CONTRIBUTING.md says how.').toEqual(last)
  })

  describe.each(supported.map((recording, index) => ({ ...recording, index })))(
    'recording $index, of version $version',
    ({ index, ...recording }) => {
      const { version, calls } = recording

      test.each([
        ['these tables', migrations],
        ['those of a version that adds to them', [...migrations, expanding]],
      ])('gets the same from %s, whenever they are migrated', async (_, steps) => {
        for (const migrateAt of [0, Math.floor(calls.length / 2), calls.length])
          expect(await replay(await emptyDatabase(), recording, migrateAt, steps)).toEqual([])
      })

      test('finds its columns and functions', async () => {
        const [before, after] = [await emptyDatabase(), await emptyDatabase()]
        await migrateTo(before, migrations.slice(0, version))
        await migrateTo(after, [...migrations, expanding])
        expect(await namesIn(after)).toEqual(expect.arrayContaining([...(await namesIn(before))]))
      })
    },
  )

  test.each(Object.entries(breaking))('would notice %s', async (_, sql) => {
    const steps = [...migrations, { minReader: newest, sql: () => sql }]
    if (!last) throw new Error('Nothing is recorded.')
    const middle = Math.floor(last.calls.length / 2)
    expect(await replay(await emptyDatabase(), last, middle, steps)).not.toEqual([])
  })
})
