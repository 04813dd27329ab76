import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMemberBudgets } from '../src/members/budgets.ts'

/** The budgets of a process with one channel, and what they did with its limit of 25 calls a second. */
function createBudgets() {
  const clock = createHandClock()
  const done: unknown[] = []
  let report = (_: number): void => {}
  const calls = {
    ...{ total: 25, windowMs: 1000, demand: () => 7 },
    setShare: (share: number, options?: { readonly afterMs?: number | undefined }) => void done.push([share, options]),
    freeze: (forMs: number) => void done.push(['freeze', forMs]),
    onFrozen: (listener: (forMs: number) => void) => {
      report = listener
      return () => {}
    },
  }
  const budgets = createMemberBudgets({
    connections: new Map([['tg', { budgets: { calls } }]]),
    clock,
    onFrozen: () => void done.push('beat'),
  })
  const answer = (share: number, frozenForMs = 0): void =>
    budgets.apply({
      ...{ type: 'admitted', leases: [], excess: {}, others: 1 },
      budgets: { 'tg/calls': { share, frozenForMs } },
    })
  return { budgets, clock, done, answer, freeze: (forMs: number) => report(forMs) }
}

const usual = { 'tg/calls': { total: 25, windowMs: 1000, demand: 7 } }

test('the share of a beat counts at once, because the store gave out only what was not used for a window', () => {
  const { budgets, done, answer } = createBudgets()
  expect(budgets.request()).toEqual(usual)
  answer(12)
  expect(done).toEqual([[12, { afterMs: 0 }]])
  expect(budgets.shares()).toEqual([{ channel: 'tg', budget: 'calls', share: 12, total: 25 }])
})

test('a pause that a platform asked for is told at once, and once', () => {
  const { budgets, done, answer, freeze } = createBudgets()
  budgets.request()
  freeze(5000)
  expect(done).toEqual(['beat'])
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual['tg/calls'], freezeForMs: 5000 } })
  answer(12)
  expect(budgets.request()).toEqual(usual)
})

test('a pause is told again if its beat was not answered, for the time that is left', async () => {
  const { budgets, clock, answer, freeze } = createBudgets()
  budgets.request()
  freeze(5000)
  budgets.request()
  await clock.advance(2000)
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual['tg/calls'], freezeForMs: 3000 } })
  await clock.advance(3000)
  expect(budgets.request()).toEqual(usual)
  answer(12)
})

test('a pause that begins while a beat is on its way is in the next one', () => {
  const { budgets, answer, freeze } = createBudgets()
  budgets.request()
  freeze(1000)
  budgets.request()
  freeze(5000)
  answer(12)
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual['tg/calls'], freezeForMs: 5000 } })
})

test('a pause of another process is kept here', () => {
  const { budgets, done, answer } = createBudgets()
  budgets.request()
  answer(12, 4000)
  expect(done).toEqual([
    [12, { afterMs: 0 }],
    ['freeze', 4000],
  ])
})
