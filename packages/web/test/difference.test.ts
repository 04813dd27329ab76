import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyDifference, type Change, differenceOf } from '../src/state/difference.ts'

/** The value as it comes over the wire. */
const sent = <T>(value: T): T => JSON.parse(JSON.stringify(value))

/** What a page has in the end that had `from` and gets the changes to `to`. */
const follow = (from: unknown, to: unknown): unknown => applyDifference(sent(from), sent(differenceOf(from, to)))

const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString', '0', '10', '', 'ä')
/** Texts with half surrogates, many of them with the same beginning. */
const text = fc
  .array(fc.constantFrom('a', 'b', '😀', '\ud83d', '\ude00', '"', '\u2028'), { maxLength: 6 })
  .map((units) => units.join(''))
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.constantFrom(null, true, false, 0, 1, 0.5),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries): unknown => Object.fromEntries(entries)),
  ),
})).value

test('the changes between two values make the second of the first, to the order of keys', () => {
  fc.assert(
    fc.property(value, value, (from, to) => {
      expect(JSON.stringify(follow(from, to))).toBe(JSON.stringify(to))
    }),
    { numRuns: 3000 },
  )
})

test('a chain of states that share their values ends at the last one', () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 2, maxLength: 6 }), (pieces) => {
      let page: unknown = sent([])
      let state: readonly unknown[] = []
      for (const [at, piece] of pieces.entries()) {
        const next = at % 3 === 2 ? [...state.slice(1), piece] : [piece, ...state]
        page = applyDifference(page, sent(differenceOf(state, next)))
        state = next
      }
      expect(JSON.stringify(page)).toBe(JSON.stringify(state))
    }),
    { numRuns: 300 },
  )
})

test.each<[string, unknown, unknown, readonly Change[]]>([
  ['nothing', { a: [1] }, { a: [1] }, []],
  ['a text that grew', { a: 'one' }, { a: 'one two' }, [[['a'], '+', ' two']]],
  ['a text that shrank', ['one'], ['on'], [[[0], '=', 'on']]],
  ['half of a surrogate pair', ['\ud83d'], ['😀'], [[[0], '+', '\ude00']]],
  ['an item that was inserted', [1, 3], [1, 2, 3], [[[], '#', 1, 0, [2]]]],
  ['items that were removed', [1, 2, 3, 4], [1, 4], [[[], '#', 1, 2, []]]],
  ['a key that was removed', { a: 1, b: 2 }, { b: 2 }, [[['a'], '-']]],
  ['keys in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, [[[], '<', ['b', 'a']]]],
  ['a key that would be a prototype', {}, JSON.parse('{"__proto__":1}'), [[['__proto__'], '=', 1]]],
])('%s', (_, from, to, changes) => {
  expect(differenceOf(from, to)).toEqual(changes)
  expect(JSON.stringify(follow(from, to))).toBe(JSON.stringify(to))
})

test('what the changes do not touch is shared, and the value before is left as it is', () => {
  const before = { a: [{ text: 'x' }, { text: 'y' }], b: {} }
  const after = applyDifference(before, [
    [['a', 1, 'text'], '+', 'z'],
    [['a', 1, 'more'], '=', 1],
  ])
  expect(before).toEqual({ a: [{ text: 'x' }, { text: 'y' }], b: {} })
  expect(after).toEqual({ a: [{ text: 'x' }, { text: 'yz', more: 1 }], b: {} })
  expect(after).toHaveProperty('b', before.b)
  expect(Object.is(Object(after).a[0], before.a[0])).toBe(true)
})

test.each<[string, Change]>([
  ['a text appended to a number', [['n'], '+', 'x']],
  ['a key of nothing', [['gone', 'x'], '=', 1]],
  ['a key that is not there, removed', [['gone'], '-']],
  ['an item past the end', [['list', 3], '=', 1]],
  ['more items removed than there are', [['list'], '#', 1, 2, []]],
  ['an order of other keys', [[], '<', ['n', 'other']]],
  ['an inherited key', [['toString', 'x'], '=', 1]],
])('%s does not fit', (_, change) => {
  expect(() => applyDifference({ n: 1, list: [1, 2] }, [change])).toThrow(/does not fit/)
})

/** Counts how many fields and items are read. */
function counted<T extends object>(value: T, count: { reads: number }): T {
  return new Proxy(value, {
    get: (target, field, receiver): unknown => {
      count.reads += 1
      return Reflect.get(target, field, receiver)
    },
  })
}

test('a part that both states share is not looked into', () => {
  const count = { reads: 0 }
  const parts = Array.from({ length: 10_000 }, (_, at) => counted({ id: at, text: 'a', state: { input: {} } }, count))
  const last = { id: 10_000, text: 'grow' }
  const changes = differenceOf({ parts: [...parts, last] }, { parts: [...parts, { ...last, text: 'grows' }] })
  expect(changes).toEqual([[['parts', 10_000, 'text'], '+', 's']])
  expect(count.reads).toBe(0)
})

test('many changes of one long list copy it once', () => {
  let copies = 0
  class List extends Array<unknown> {
    override [Symbol.iterator](): ReturnType<Array<unknown>['values']> {
      copies += 1
      return super[Symbol.iterator]()
    }
  }
  const list = List.from({ length: 10_000 }, () => 'a')
  copies = 0
  const changes = Array.from({ length: 10_000 }, (_, at): Change => [['list', at], '+', 'b'])
  expect(applyDifference({ list }, changes)).toEqual({ list: Array.from({ length: 10_000 }, () => 'ab') })
  expect(copies).toBe(1)
})
