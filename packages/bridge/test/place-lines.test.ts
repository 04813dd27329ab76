import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createPlaceLines } from '../src/intake/place-lines.ts'

/** Lines of numbers. The test ends each task. Undefined has no order. */
function setUp() {
  const clock = createHandClock()
  const lines = createPlaceLines<number | undefined>({
    isBefore: (one, other) => one !== undefined && other !== undefined && one < other,
    urgentMs: 500,
    clock,
  })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const add = (name: string, item: number | undefined, isUrgent = false, place = 'a'): void =>
    lines.add(place, {
      item,
      isUrgent,
      run: async () => {
        begun.push(name)
        await new Promise<void>((resolve) => ends.set(name, resolve))
      },
    })
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.()
    await settle()
  }
  return { clock, lines, begun, add, end }
}

const settle = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))

test('tasks of a place run one after the other, and those of others do not wait', async () => {
  const { begun, add, end } = setUp()
  add('one', 1)
  add('two', 2)
  add('elsewhere', 3, false, 'b')
  await settle()
  expect(begun).toEqual(['one', 'elsewhere'])
  await end('one')
  expect(begun).toEqual(['one', 'elsewhere', 'two'])
})

test('a task overtakes those that wait behind it, up to one whose order is not known', async () => {
  const { begun, add, end } = setUp()
  for (const [name, item] of [
    ['first', 5],
    ['unknown', undefined],
    ['nine', 9],
    ['eight', 8],
    ['seven', 7],
    ['ten', 10],
  ] as const)
    add(name, item)
  for (const name of ['first', 'unknown', 'seven', 'eight', 'nine', 'ten']) {
    await settle()
    expect(begun.at(-1)).toBe(name)
    await end(name)
  }
})

test('an urgent task waits for half a second, and those behind it wait for all', async () => {
  const { clock, begun, add, end } = setUp()
  add('slow', 1)
  add('between', 2)
  add('urgent', 3, true)
  add('behind', 4)
  await settle()
  await clock.advance(499)
  expect(begun).toEqual(['slow'])
  await clock.advance(1)
  expect(begun).toEqual(['slow', 'urgent'])
  await end('slow')
  expect(begun).toEqual(['slow', 'urgent', 'between'])
  await end('between')
  add('later', 5)
  await settle()
  expect(begun).toHaveLength(3)
  await end('urgent')
  expect(begun.at(-1)).toBe('behind')
  await end('behind')
  expect(begun.at(-1)).toBe('later')
})

test('an urgent task whose turn comes early runs once', async () => {
  const { clock, begun, add, end } = setUp()
  add('quick', 1)
  add('urgent', 2, true)
  await settle()
  await end('quick')
  await clock.advance(500)
  expect(begun).toEqual(['quick', 'urgent'])
})

test('all is idle when the last task of all places is done', async () => {
  const { clock, lines, add, end } = setUp()
  add('slow', 1)
  add('urgent', 2, true)
  await settle()
  await clock.advance(500)
  let isIdle = false
  void lines.idle().then(() => {
    isIdle = true
  })
  await end('slow')
  expect(isIdle).toBe(false)
  await end('urgent')
  expect(isIdle).toBe(true)
})
