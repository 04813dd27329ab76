import { expect, test } from 'vitest'
import { createTaskGroups } from '../src/store/sqlite/sqlite-store.ts'

/** Doubles numbers, and fails for a group that has a negative one. */
function doubling(isBusy = false) {
  const groups: (readonly number[])[] = []
  const run = (tasks: readonly number[]) => {
    groups.push(tasks)
    if (tasks.some((task) => task < 0)) throw new Error('negative')
    return tasks.map((task) => task * 2)
  }
  const grouped = createTaskGroups<number, number>(run, () => isBusy)
  return { grouped, groups }
}

test('what is added in one turn of the event loop is one group, and each gets its own result', async () => {
  const { grouped, groups } = doubling()
  expect(await Promise.all([grouped.addTask(1), grouped.addTask(2), grouped.addTask(3)])).toEqual([2, 4, 6])
  expect(groups).toEqual([[1, 2, 3]])
})

test('one that fails does not fail the others', async () => {
  const { grouped } = doubling()
  const results = await Promise.allSettled([grouped.addTask(1), grouped.addTask(-1), grouped.addTask(3)])
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([2, 'failed', 6])
})

test('a group that found the state locked is not tried one by one', async () => {
  const { grouped, groups } = doubling(true)
  const results = await Promise.allSettled([grouped.addTask(1), grouped.addTask(-1)])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(groups).toHaveLength(1)
})

test('a flush does at once what waits', async () => {
  const { grouped, groups } = doubling()
  const result = grouped.addTask(4)
  grouped.flush()
  expect(groups).toEqual([[4]])
  expect(await result).toBe(8)
})
