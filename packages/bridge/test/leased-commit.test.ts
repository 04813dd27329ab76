import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createLeasedCommit } from '../src/state/state.ts'
import type { Committed } from '../src/store/store.ts'

/** A commit on a store that gives these answers, one after the other. */
function commitWith(answers: readonly Committed['type'][], renewals: readonly boolean[]) {
  const left = { answers: [...answers], renewals: [...renewals] }
  const fenced: string[] = []
  const lease = { name: 'shard/07', holder: 'a', fence: 1, validForMs: 4000 }
  const commit = createLeasedCommit({
    store: { commit: async () => ({ type: left.answers.shift() ?? 'done', index: 0 }) },
    lease: { current: () => lease, renew: async () => left.renewals.shift() ?? false },
    clock: createHandClock(),
    stopping: new AbortController().signal,
    onFenced: () => void fenced.push('fenced'),
  })
  return { commit, fenced }
}

test('a write that is refused because the lease had run out is counted, and made once it is renewed', async () => {
  const { commit, fenced } = commitWith(['fenced', 'fenced', 'done'], [true, true])
  expect(await commit([])).toBe(true)
  expect(fenced).toHaveLength(2)
})

test('a write that is refused because another process has the lease is counted, and never made', async () => {
  const { commit, fenced } = commitWith(['fenced', 'done'], [false])
  await expect(commit([])).rejects.toMatchObject({ type: 'taken-over' })
  expect(fenced).toHaveLength(1)
})

test('a conflict is not counted', async () => {
  const { commit, fenced } = commitWith(['conflict'], [])
  expect([await commit([]), fenced]).toEqual([false, []])
})
