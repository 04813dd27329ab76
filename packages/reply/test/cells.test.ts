import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cells, cellOf, cellValues, emptyCells, withCell, withoutCell } from '../src/track/cells.ts'

interface Value {
  readonly id: string
  readonly n: number
}

/** Includes ids with equal ends, because those share a row. */
const id = fc.oneof(
  fc.nat(40).map((n) => `ses_${n}`),
  fc.constantFrom('a', 'b', ''),
  fc.nat(5).map((n) => `${n}sameend`),
)
const deeds = fc.array(fc.tuple(id, fc.boolean()), { maxLength: 300 })

/** The content visible from outside. */
function seen(cells: Cells<Value>): readonly Value[] {
  return cellValues(cells).toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

test('cells are a map whose older versions stay unchanged', () => {
  fc.assert(
    fc.property(deeds, (all) => {
      const map = new Map<string, Value>()
      const versions: { readonly cells: Cells<Value>; readonly values: readonly Value[] }[] = []
      let cells = emptyCells<Value>()
      for (const [n, [key, isAdded]] of all.entries()) {
        cells = isAdded ? withCell(cells, { id: key, n }) : withoutCell(cells, key)
        if (isAdded) map.set(key, { id: key, n })
        else map.delete(key)
        expect(cellOf(cells, key)).toEqual(map.get(key))
        const values = [...map.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
        if (n % 20 === 0) versions.push({ cells, values })
      }
      for (const version of versions) {
        expect(seen(version.cells)).toEqual(version.values)
        for (const value of version.values) expect(cellOf(version.cells, value.id)).toEqual(value)
      }
      // A newly added value may not be counted yet.
      expect(map.size - cells.size).toBeOneOf([0, 1])
    }),
  )
})

test('removing an absent value changes nothing', () => {
  const cells = withCell(emptyCells<Value>(), { id: 'a', n: 1 })
  expect(withoutCell(cells, 'b')).toBe(cells)
})
