import { describe, expect, test } from 'vitest'
import { createPositions } from '../../src/reduce/positions.ts'
import { replaceAt } from '../../src/reduce/shape.ts'

interface Item {
  readonly id: string
}

const items = (count: number): readonly Item[] => Array.from({ length: count }, (_, at) => ({ id: `i${at}` }))

/** Positions that count how often an id is read. */
function counted() {
  const count = { reads: 0 }
  const positions = createPositions<Item>(({ id }) => {
    count.reads += 1
    return id
  })
  return { ...positions, count }
}

describe('positions in a list', () => {
  test.each([0, 1, 32, 33, 500])('of %d items are those of a search', (length) => {
    const { indexOf: at } = counted()
    const list = items(length)
    expect(list.map(({ id }) => at(list, id))).toEqual(list.map((_, place) => place))
    expect(at(list, 'other')).toBe(-1)
  })

  test('are known in a list that grew at its end', () => {
    const { indexOf: at, carryIndex } = counted()
    const list = items(100)
    expect(at(list, 'i3')).toBe(3)
    const grown = [...list, { id: 'new' }]
    carryIndex(list, grown)
    expect([at(grown, 'i3'), at(grown, 'new')]).toEqual([3, 100])
    expect(at(list, 'new')).toBe(-1)
  })

  test('are known in two lists that grew differently from one', () => {
    const { indexOf: at, carryIndex } = counted()
    const list = items(100)
    at(list, 'i3')
    const grown = ['left', 'right'].map((id) => [...list, { id }, ...items(0)])
    for (const one of grown) carryIndex(list, one)
    const longer = grown.map((one) => [...one, ...Array.from({ length: 40 }, (_, at) => ({ id: `more${at}` }))])
    for (const [index, one] of longer.entries()) {
      let before = grown[index] ?? []
      for (let length = before.length + 1; length <= one.length; length++) {
        const next = one.slice(0, length)
        carryIndex(before, next)
        before = next
      }
      expect(['i3', 'left', 'right', 'more0'].map((id) => at(before, id))).toEqual([
        3,
        index === 0 ? 100 : -1,
        index === 1 ? 100 : -1,
        101,
      ])
    }
  })

  test('are looked up, not searched for, after an item was replaced', () => {
    const { indexOf: at, carryIndex, count } = counted()
    const list = items(5000)
    at(list, 'i3')
    const next = replaceAt(list, 3, { id: 'i3' })
    carryIndex(list, next)
    count.reads = 0
    expect(at(next, 'i7')).toBe(7)
    expect(count.reads).toBeLessThan(40)
  })

  test('are looked up, not searched for, after an item was inserted or removed near the end', () => {
    const { indexOf: at, carryIndex, count } = counted()
    const list = items(5000)
    at(list, 'i3')
    count.reads = 0
    const longer = list.toSpliced(4990, 0, { id: 'new' })
    carryIndex(list, longer, 4990)
    const shorter = longer.toSpliced(4980, 1)
    carryIndex(longer, shorter, 4980)
    expect([at(shorter, 'i7'), at(shorter, 'i4900')]).toEqual([7, 4900])
    expect(count.reads).toBeLessThan(120)
    expect(['i4979', 'i4980', 'i4981', 'new', 'i4999'].map((id) => at(shorter, id))).toEqual([
      4979, -1, 4980, 4989, 4999,
    ])
    expect(['i4980', 'new', 'i4999'].map((id) => at(list, id))).toEqual([4980, -1, 4999])
  })
})
