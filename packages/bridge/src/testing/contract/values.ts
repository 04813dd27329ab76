import type { Demand } from '@reply/core/testing'
import { commitDone, oddTexts, put, requireConflict, requireEqual, type StoreStage } from './stage.ts'

/** Clauses about keys and values. */
export const valueClauses = [
  {
    name: 'reads what was put last, and nothing for other keys',
    run: async (stage) => {
      const store = await stage.open()
      requireEqual(await store.read('key'), undefined, 'A key before its first write')
      await commitDone(store, [put('key', 'one')])
      await commitDone(store, [put('key', 'two')])
      requireEqual(await store.read('key'), 'two', 'The key')
      requireEqual(
        [await store.read('Key'), await store.read('key '), await store.read('ke')],
        [null, null, null],
        'Other keys',
      )
    },
  },
  {
    name: 'keeps every text as it is, in keys and in values',
    run: async (stage) => {
      const store = await stage.open()
      for (const text of oddTexts) await commitDone(store, [put(text, text)])
      for (const text of oddTexts) requireEqual(await store.read(text), text, `The value of ${JSON.stringify(text)}`)
      requireEqual((await store.list('')).length, oddTexts.length, 'The number of keys')
      for (const text of oddTexts)
        await commitDone(store, [{ type: 'compare-and-set', key: text, expected: text, value: undefined }])
      requireEqual(await store.list(''), [], 'The keys after the removal of all')
    },
  },
  {
    name: 'keeps values of a million units',
    run: async (stage) => {
      const store = await stage.open()
      const long = ['a'.repeat(1_000_000), '\ud83d\ude00'.repeat(500_000), `\ud83d${'b'.repeat(1_000_000)}`]
      for (const [at, text] of long.entries()) await commitDone(store, [put(`${at}`, text)])
      for (const [at, text] of long.entries())
        requireEqual((await store.read(`${at}`)) === text, true, `Long value ${at}`)
      requireEqual(
        (await store.list('')).map(({ value }) => value.length),
        [1e6, 1e6, 1e6 + 1],
        'The lengths in a list',
      )
    },
  },
  {
    name: 'lists what begins with a prefix, and nothing else',
    run: async (stage) => {
      const store = await stage.open()
      const keys = ['a', 'a%b', 'a%c', 'a_b', 'axb', 'A%b', 'b', '\ud83d\ude00', '\ud83d\ude01', '\uffff', ...oddTexts]
      await commitDone(
        store,
        keys.map((key) => put(key, key)),
      )
      const unique = [...new Set(keys)]
      for (const prefix of ['', 'a', 'a%', 'a_', '%', '*', '\ud83d', '\uffff', '\uffff\uffff', 'none', ...oddTexts]) {
        const expected = unique.filter((key) => key.startsWith(prefix)).toSorted(compareUnits)
        const found = await store.list(prefix)
        requireEqual(
          found,
          expected.map((key) => ({ key, value: key })),
          `The keys with ${JSON.stringify(prefix)}`,
        )
      }
    },
  },
  {
    name: 'orders keys by UTF-16 units',
    run: async (stage) => {
      const store = await stage.open()
      // By code points the emoji would be last, by a locale "Z" would follow "a".
      const ordered = ['', '10', '9', 'Z', 'a', 'aa', 'b', '\u00e4', '\ud83d', '\ud83d\ude00', '\ude00', '\uff01']
      for (const key of ordered.toReversed()) await commitDone(store, [put(key, key)])
      requireEqual(
        (await store.list('')).map(({ key }) => key),
        ordered,
        'The keys',
      )
    },
  },
  {
    name: 'puts if absent, once',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [{ type: 'put-if-absent', key: 'key', value: 'first' }])
      await requireConflict(store, [{ type: 'put-if-absent', key: 'key', value: 'second' }])
      requireEqual(await store.read('key'), 'first', 'The key')
      await commitDone(store, [put('empty', '')])
      await requireConflict(store, [{ type: 'put-if-absent', key: 'empty', value: 'an empty value is one' }])
    },
  },
  {
    name: 'compares before it sets',
    run: async (stage) => {
      const store = await stage.open()
      const set = (expected: string | undefined, value: string | undefined) =>
        [{ type: 'compare-and-set', key: 'key', expected, value }] as const
      await requireConflict(store, set('one', 'two'))
      await commitDone(store, set(undefined, undefined))
      await commitDone(store, set(undefined, 'one'))
      await requireConflict(store, set(undefined, 'two'))
      await requireConflict(store, set('One', 'two'))
      await commitDone(store, set('one', 'two'))
      requireEqual(await store.read('key'), 'two', 'The key')
      await commitDone(store, set('two', undefined))
      requireEqual(await store.list(''), [], 'The keys after the removal')
    },
  },
  {
    name: 'removes, also what is not there',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [put('key', 'value'), put('other', 'value')])
      await commitDone(store, [{ type: 'remove', key: 'key' }])
      await commitDone(store, [{ type: 'remove', key: 'key' }])
      requireEqual(
        (await store.list('')).map(({ key }) => key),
        ['other'],
        'The keys',
      )
    },
  },
  {
    name: 'has no value from the moment that it expires',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [
        put('a', 'value', 1000),
        put('b', 'value', 1000),
        put('c', 'value', 1000),
        put('d', 'past', 0),
      ])
      requireEqual([await store.read('a'), await store.read('d')], ['value', null], 'Values before the end')
      requireEqual(
        (await store.list('')).map(({ key }) => key),
        ['a', 'b', 'c'],
        'The keys before the end',
      )
      await stage.pass(999)
      requireEqual(await store.read('a'), 'value', 'A value 1 ms before its end')
      await stage.pass(1)
      requireEqual(await store.read('a'), undefined, 'A value at its end')
      requireEqual(await store.list(''), [], 'The keys after the end')
      await requireConflict(store, [{ type: 'compare-and-set', key: 'a', expected: 'value', value: 'x' }])
      await commitDone(store, [
        { type: 'put-if-absent', key: 'a', value: 'new' },
        { type: 'compare-and-set', key: 'b', expected: undefined, value: 'new' },
        { type: 'remove', key: 'c' },
      ])
      requireEqual(
        (await store.list('')).map(({ key, value }) => key + value),
        ['anew', 'bnew'],
        'What was written anew',
      )
    },
  },
  {
    name: 'sets the expiry anew with each write',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [put('put', '1', 1000), put('set', '1', 1000), put('later', '1', 1000)])
      await commitDone(store, [
        put('put', '2'),
        { type: 'compare-and-set', key: 'set', expected: '1', value: '2' },
        put('later', '2', 2000),
        { type: 'put-if-absent', key: 'absent', value: '2', expiresInMs: 1000 },
        { type: 'compare-and-set', key: 'compared', expected: undefined, value: '2', expiresInMs: 1000 },
      ])
      const keys = async () => (await store.list('')).map(({ key }) => key)
      requireEqual(await keys(), ['absent', 'compared', 'later', 'put', 'set'], 'The keys before')
      await stage.pass(1500)
      requireEqual(await keys(), ['later', 'put', 'set'], 'The keys after the first end')
      await stage.pass(1000)
      requireEqual(await keys(), ['put', 'set'], 'The keys after the second end')
    },
  },
  {
    name: 'lists in how many ms each value expires',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [put('a', '1', 1000), put('b', '1', 1000.5), put('c', '1')])
      await stage.pass(400)
      const expected = [
        { key: 'a', value: '1', expiresInMs: 600 },
        { key: 'b', value: '1', expiresInMs: 600.5 },
        { key: 'c', value: '1' },
      ]
      const listed = await store.list('')
      requireEqual(
        listed.map(({ key, value, expiresInMs }) => ({ key, value, expiresInMs })),
        expected,
        'The values',
      )
    },
  },
  {
    name: 'sweeps what has expired, and counts it',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [put('a', '1', 1000), put('b', '1', 1000), put('c', '1', 2000), put('d', '1')])
      requireEqual(await store.sweep(), 0, 'Swept before the end')
      await stage.pass(1000)
      requireEqual([await store.sweep(), await store.sweep()], [2, 0], 'Swept after the end')
      requireEqual(
        (await store.list('')).map(({ key }) => key),
        ['c', 'd'],
        'The keys',
      )
    },
  },
] as const satisfies readonly Demand<StoreStage>[]

/** Sorts by UTF-16 units. Never called with equal texts. */
function compareUnits(one: string, other: string): number {
  return one < other ? -1 : 1
}
