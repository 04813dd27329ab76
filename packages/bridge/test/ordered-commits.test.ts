import { withResolvers } from '@reply/sink/internal'
import { expect, test } from 'vitest'
import { createOrderedCommits } from '../src/state/state.ts'
import type { Write } from '../src/store/store.ts'

const put = (value: string): Write => ({ type: 'put', key: 'execution/1', value })

test('a write that is tried again is made before the next one of its row', async () => {
  const made: string[] = []
  const again = withResolvers<void>()
  let failures = 1
  const commit = createOrderedCommits({
    commit: async ([write]) => {
      if (failures-- > 0) throw new Error('The disk is full.')
      if (write?.type === 'put') made.push(write.value)
      return true
    },
    withRetries: async (call) =>
      await call().catch(async () => {
        await again.promise
        return await call()
      }),
  })
  const both = Promise.all([commit([put('posting')]), commit([put('done')])])
  await new Promise((resolve) => setImmediate(resolve))
  expect(made).toEqual([])
  again.resolve()
  await both
  expect(made).toEqual(['posting', 'done'])
})

test('a write that can no longer be made does not hold up the next one', async () => {
  const made: Write[] = []
  const commit = createOrderedCommits({
    commit: async (writes) => {
      if (made.length === 0 && writes.length === 0) throw new Error('The state is closed.')
      made.push(...writes)
      return true
    },
    withRetries: async (call) => await call(),
  })
  const [first, second] = await Promise.allSettled([commit([]), commit([put('done')])])
  expect([first?.status, second?.status, made]).toEqual(['rejected', 'fulfilled', [put('done')]])
})
