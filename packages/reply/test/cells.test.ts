import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cells, cellOf, cellValues, emptyCells, withCell, withoutCell } from '../src/track/cells.ts'

interface Value {
  readonly id: string
  readonly n: number
}

const id = fc.oneof(
  fc.nat(40).map((n) => `ses_${n}`),
  fc.constantFrom('a', 'b', ''),
)

/** Which version a write starts from, counted back from the newest: mostly the newest itself. */
const back = fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(60) })
const writes = fc.array(fc.record({ id, isAdded: fc.boolean(), back }), { maxLength: 300 })

interface Version {
  readonly cells: Cells<Value>
  readonly map: ReadonlyMap<string, Value>
}

/** The content visible from outside. */
function seen(cells: Cells<Value>): readonly Value[] {
  return cellValues(cells).toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

function expectSame({ cells, map }: Version): void {
  expect(cells.size).toBe(map.size)
  expect(seen(cells)).toEqual([...map.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)))
  for (const key of ['a', 'b', '', 'ses_0', 'ses_1', ...map.keys()]) expect(cellOf(cells, key)).toBe(map.get(key))
}

test('cells are a map whose versions stay unchanged, whichever one the next is made from', () => {
  fc.assert(
    fc.property(writes, fc.array(fc.nat(300)), (all, reads) => {
      const versions: Version[] = [{ cells: emptyCells<Value>(), map: new Map() }]
      for (const [n, { id: key, isAdded, back: steps }] of all.entries()) {
        const from = versions.at(-1 - steps) ?? versions[0]
        if (!from) return
        const value = { id: key, n }
        const map = new Map(from.map)
        if (isAdded) map.set(key, value)
        else map.delete(key)
        const cells = isAdded ? withCell(from.cells, value) : withoutCell(from.cells, key)
        Object.freeze(cells)
        versions.push({ cells, map })
      }
      for (const at of reads) expectSame(versions[at % versions.length] ?? expect.fail())
      for (const version of versions) expectSame(version)
    }),
  )
})

test('every version stays unchanged over many more writes than share a map', () => {
  const versions: Version[] = [{ cells: emptyCells<Value>(), map: new Map() }]
  for (let n = 0; n < 5000; n++) {
    const before = versions.at(-1) ?? expect.fail()
    const value = { id: `ses_${(n * 7919) % 50}`, n }
    versions.push({ cells: withCell(before.cells, value), map: new Map(before.map).set(value.id, value) })
  }
  for (const [at, version] of versions.entries()) if (at % 97 === 0) expectSame(version)
})

test('removing an absent value changes nothing', () => {
  const cells = withCell(emptyCells<Value>(), { id: 'a', n: 1 })
  expect(withoutCell(cells, 'b')).toBe(cells)
})
