import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createUsedLinks } from '../src/pages/used-links.ts'
import type { Write } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

const linkMs = 3_600_000

/** The used links of two processes with one store. With `losesAnswers`, commits are made and their answers are lost. */
function links(options: { losesAnswers?: boolean } = {}) {
  const clock = createHandClock()
  const memory = createStoreMemory()
  const process = () => {
    const store = createMemoryStore({ memory, clock })
    const commitWithoutLease = async (writes: readonly Write[]): Promise<boolean> => {
      const { type } = await store.commit(writes)
      if (options.losesAnswers) throw new Error('The connection ended.')
      return type === 'done'
    }
    return createUsedLinks({ read: store.read, commitWithoutLease }, linkMs)
  }
  return { clock, one: process(), two: process() }
}

test('a link allows one ask, whichever process is asked, and that one again', async () => {
  const { one, two } = links()
  expect(await one.askOf('a')).toBeUndefined()
  expect(await Promise.all([one.take('a', 'per_1'), two.take('a', 'per_2')])).toEqual([true, false])
  expect([await two.askOf('a'), await two.take('a', 'per_1'), await one.take('a', 'per_2')]).toEqual([
    ...['per_1', true, false],
  ])
  expect(await two.take('b', 'per_2')).toBe(true)
})

test('a use whose answer was lost counts, and may be repeated for its ask alone', async () => {
  const options = { losesAnswers: true }
  const { one, two } = links(options)
  await expect(one.take('a', 'per_1')).rejects.toThrow('The connection ended.')
  options.losesAnswers = false
  expect([await two.take('a', 'per_2'), await two.take('a', 'per_1')]).toEqual([false, true])
})

test('a use is forgotten when its link has ended', async () => {
  const { one, clock } = links()
  await one.take('a', 'per_1')
  await clock.advance(linkMs + 1)
  expect(await one.askOf('a')).toBeUndefined()
})
