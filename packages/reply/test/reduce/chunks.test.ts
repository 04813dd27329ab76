import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Chunks,
  chunkLength,
  itemAt,
  toChunks,
  withInserted,
  withItem,
  withRemoved,
} from '../../src/reduce/chunks.ts'

const numbers = (length: number): readonly number[] => Array.from({ length }, (_, at) => at)
const lengths = [0, 1, chunkLength - 1, chunkLength, chunkLength + 1, 3 * chunkLength]

test.each(lengths)('%d items are kept as they are', (length) => {
  const list = toChunks(numbers(length))
  expect(list.toArray()).toEqual(numbers(length))
  expect([itemAt(list, -1), itemAt(list, length)]).toEqual([undefined, undefined])
  expect(list.chunks.every((chunk) => chunk.length > 0)).toBe(true)
})

test('the whole list is made once', () => {
  const list = toChunks(numbers(1000))
  expect(list.toArray()).toBe(list.toArray())
})

test('a changed list shares all chunks but one', () => {
  const list = toChunks(numbers(10 * chunkLength))
  for (const next of [withItem(list, 5, -1), withItem(list, list.length, -1)]) {
    expect(next.chunks.filter((chunk, at) => chunk !== list.chunks[at])).toHaveLength(1)
  }
})

const change = fc.tuple(
  fc.constantFrom('replace', 'append', 'insert', 'remove'),
  fc.double({ min: 0, max: 1, noNaN: true }),
)

test('chunks are a list whose older versions stay as they were', () => {
  fc.assert(
    fc.property(fc.constantFrom(...lengths), fc.array(change, { maxLength: 60 }), (length, changes) => {
      let list: Chunks<number> = toChunks(numbers(length))
      let items = numbers(length)
      const versions = [{ list, items }]
      for (const [value, [type, share]] of changes.entries()) {
        const place = Math.floor(share * items.length)
        if (type === 'append' || items.length === 0) {
          list = withItem(list, items.length, value)
          items = [...items, value]
        } else if (type === 'remove') {
          list = withRemoved(list, place)
          items = items.toSpliced(place, 1)
        } else {
          list = type === 'insert' ? withInserted(list, place, value) : withItem(list, place, value)
          items = items.toSpliced(place, type === 'insert' ? 0 : 1, value)
        }
        expect(list.length).toBe(items.length)
        expect(itemAt(list, place)).toBe(items[place])
        expect(list.chunks.every((chunk, at) => chunk.length === chunkLength || at === list.chunks.length - 1)).toBe(
          true,
        )
        expect(list.chunks.every((chunk) => chunk.length > 0)).toBe(true)
        versions.push({ list, items })
      }
      for (const version of versions) expect(version.list.toArray()).toEqual(version.items)
    }),
    { numRuns: 60 },
  )
})

test('a list without its only item has no chunks', () => {
  expect(withRemoved(toChunks([1]), 0)).toMatchObject({ length: 0, chunks: [] })
})

test('a list with an item removed or inserted shares the chunks before it', () => {
  const list = toChunks(numbers(10 * chunkLength - 1))
  for (const next of [withRemoved(list, 7 * chunkLength), withInserted(list, 7 * chunkLength, -1)]) {
    expect(next.chunks.filter((chunk, at) => chunk !== list.chunks[at])).toHaveLength(3)
  }
})
