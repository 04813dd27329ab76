import type { Ask } from '@reply/core'
import { expect, test } from 'vitest'
import { carryPendingCount, isAnyPending } from '../../src/reduce/ask-list.ts'
import { permission } from '../make.ts'

const pending = (at: number): Ask => permission(`p${at}`).ask
const answered = (ask: Ask): Ask => ({ ...ask, status: 'answered' })
const asks = (length: number): readonly Ask[] => Array.from({ length }, (_, at) => pending(at))

test.each([
  ['no ask', [], false],
  ['an answered one', asks(1).map(answered), false],
  ['one that waits among answered ones', [...asks(2).map(answered), pending(3)], true],
])('%s', (_, list, isPending) => {
  expect(isAnyPending(list)).toBe(isPending)
})

test('the count follows the asks as they are asked and answered', () => {
  let list: readonly Ask[] = []
  const become = (next: readonly Ask[], changed: number): void => {
    carryPendingCount(list, next, changed)
    list = next
  }
  for (const [at, ask] of asks(5).entries()) become([...list, ask], at)
  for (const at of [3, 0, 4, 1]) {
    become(list.with(at, answered(pending(at))), at)
    expect(isAnyPending(list)).toBe(true)
  }
  become(list.with(2, answered(pending(2))), 2)
  expect(isAnyPending(list)).toBe(false)
})

test('a list that came of a known one is not looked through', () => {
  let reads = 0
  const read = (ask: Ask): Ask => ({
    ...ask,
    get status() {
      reads += 1
      return ask.status
    },
  })
  const before = asks(1000).map((ask) => read(answered(ask)))
  isAnyPending(before)
  reads = 0
  const after = [...before, read(pending(1000))]
  carryPendingCount(before, after, 1000)
  expect(isAnyPending(after)).toBe(true)
  expect(reads).toBe(1)
})
