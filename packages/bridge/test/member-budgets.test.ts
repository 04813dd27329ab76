import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMemberBudgets } from '../src/members/budgets.ts'

/** The budgets of a process with one channel, and what they did with its limit of 25 calls a second. */
function createBudgets() {
  const clock = createHandClock()
  const done: unknown[] = []
  const state = { isHeld: true, used: 0, fails: false, inProgress: undefined as Promise<void> | undefined }
  let report = (_: number): void => {}
  let answers = (): void => {}
  const calls = {
    ...{ total: 25, windowMs: 1000, demand: () => 7, used: () => state.used },
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
    isHeld: () => state.isHeld,
    beat: async () => {
      if (state.inProgress) return await state.inProgress
      const { freezeForMs, used } = budgets.request()['tg/calls'] ?? {}
      done.push({ freezeForMs, used })
      if (state.fails) throw new Error('The store is gone.')
      answers()
    },
  })
  const answer = (share: number, frozenForMs = 0): void =>
    budgets.apply({
      ...{ type: 'admitted', leases: [], excess: {}, others: 1 },
      budgets: { 'tg/calls': { share, frozenForMs } },
    })
  const answersWith = (share: number): void => {
    answers = () => answer(share)
  }
  return { budgets, clock, done, state, answer, answersWith, freeze: (forMs: number) => report(forMs) }
}

const usual = { total: 25, windowMs: 1000, demand: 7, used: 0 }

/** Lets the beats that were begun settle. */
const settles = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))

test('the share of a beat counts at once, because the store gave out only what no other process uses', () => {
  const { budgets, done, answer } = createBudgets()
  expect(budgets.request()).toEqual({ 'tg/calls': usual })
  answer(12)
  expect(done).toEqual([[12, { afterMs: 0 }]])
  expect(budgets.shares()).toEqual([{ channel: 'tg', budget: 'calls', share: 12, total: 25 }])
})

test('a beat says that the share may be used, or what was used if that is more', () => {
  const { budgets, state, answer } = createBudgets()
  budgets.request()
  answer(12)
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 12 } })
  state.used = 20
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 20 } })
  expect(budgets.used()).toEqual({ 'tg/calls': 20 })
})

test('a share that shrinks and was not used is told at once, so that others can have it', async () => {
  const { budgets, done, state, answer, answersWith } = createBudgets()
  budgets.request()
  answer(25)
  budgets.request()
  state.used = 6
  answersWith(10)
  done.length = 0
  answer(10)
  await settles()
  expect(done).toEqual([[10, { afterMs: 0 }], { freezeForMs: undefined, used: 10 }, [10, { afterMs: 0 }]])
})

test('a share that shrinks and was used is told by the next regular beat', async () => {
  const { budgets, done, state, answer } = createBudgets()
  budgets.request()
  answer(25)
  budgets.request()
  state.used = 25
  done.length = 0
  answer(10)
  await settles()
  expect(done).toEqual([[10, { afterMs: 0 }]])
})

test('a process that was refused or has expired has no share until it is admitted again', () => {
  const { budgets, done, state, answer } = createBudgets()
  budgets.request()
  answer(12)
  state.isHeld = false
  state.used = 3
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 3 } })
  answer(8)
  expect(done).toEqual([
    [12, { afterMs: 0 }],
    [0, { afterMs: 0 }],
    [8, { afterMs: 0 }],
  ])
})

test('a pause that a platform asked for is told at once, and once', async () => {
  const { budgets, done, answersWith, freeze } = createBudgets()
  budgets.request()
  answersWith(12)
  freeze(5000)
  await settles()
  expect(done).toEqual([{ freezeForMs: 5000, used: 0 }, [12, { afterMs: 0 }]])
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 12 } })
})

test('a pause is told again if its beat was not answered, for the time that is left', async () => {
  const { budgets, clock, state, freeze } = createBudgets()
  budgets.request()
  state.fails = true
  freeze(5000)
  await settles()
  await clock.advance(2000)
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, freezeForMs: 3000 } })
  await clock.advance(3000)
  expect(budgets.request()).toEqual({ 'tg/calls': usual })
})

test('a pause that begins while a beat is on its way is told right after it', async () => {
  const { budgets, done, state, answer, answersWith, freeze } = createBudgets()
  budgets.request()
  let end = (): void => {}
  state.inProgress = new Promise((resolve) => {
    end = resolve
  })
  freeze(5000)
  state.inProgress = undefined
  answersWith(12)
  answer(12)
  end()
  await settles()
  expect(done).toEqual([[12, { afterMs: 0 }], { freezeForMs: 5000, used: 12 }, [12, { afterMs: 0 }]])
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
