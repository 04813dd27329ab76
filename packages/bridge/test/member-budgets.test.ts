import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMemberBudgets } from '../src/members/budgets.ts'

/** For how long the calls of a process count. */
const counted = [{ calls: 2, forMs: 1000 }]

/** The budgets of a process with one channel, and what they did with its limit of 25 calls a second. */
function createBudgets() {
  const clock = createHandClock()
  const done: unknown[] = []
  const state = {
    isHeld: true,
    used: 0,
    demand: 7,
    growing: 3,
    fails: false,
    inProgress: undefined as Promise<void> | undefined,
  }
  let report = (_: number): void => {}
  let delay = (): void => {}
  let answers = (): void => {}
  const calls = {
    ...{ total: 25, mostGrowing: 20, windowMs: 1000, used: () => state.used },
    ...{ demand: () => state.demand, growing: () => state.growing },
    usedFor: () => counted,
    setShare: (share: number, options?: object) => void done.push([share, options]),
    freeze: (forMs: number) => void done.push(['freeze', forMs]),
    onFrozen: (listener: (forMs: number) => void) => {
      report = listener
      return () => {}
    },
    onDelayed: (listener: () => void) => {
      delay = listener
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
  const answer = (share: number, frozenForMs = 0, target = share, most = share): void =>
    budgets.apply({
      ...{ type: 'admitted', leases: [], excess: {}, others: 1 },
      budgets: { 'tg/calls': { share, target, most, frozenForMs } },
    })
  const answersWith = (share: number): void => {
    answers = () => answer(share)
  }
  const freeze = (forMs: number): void => report(forMs)
  return { budgets, clock, done, state, answer, answersWith, freeze, delay: () => delay() }
}

const usual = { total: 25, mostGrowing: 20, windowMs: 1000, demand: 7, growing: 3, used: 0, usedFor: counted }

/** What a budget is set to with a share. */
const shareOf = (share: number, { growsTo = share, mostCounted = share } = {}) => [
  share,
  { isFree: true, growsTo, mostCounted },
]

/** Lets the beats that were begun settle. */
const settles = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))

test('the share of a beat counts at once, because the store gave out only what no other process uses', () => {
  const { budgets, done, answer } = createBudgets()
  expect(budgets.request()).toEqual({ 'tg/calls': usual })
  answer(12)
  expect(done).toEqual([shareOf(12)])
  expect(budgets.shares()).toEqual([{ channel: 'tg', budget: 'calls', share: 12, total: 25 }])
})

test('a beat says that the share may be used, or what was used if that is more', () => {
  const { budgets, state, answer } = createBudgets()
  budgets.request()
  answer(12)
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 12 } })
  state.used = 20
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 20 } })
  expect(budgets.used()).toEqual({ 'tg/calls': counted })
})

test('a beat may allow fewer calls than the share until the next one, and a lower number makes no further beat', async () => {
  const { budgets, done, answer } = createBudgets()
  budgets.request()
  answer(25, 0, 25, 14)
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 14 } })
  answer(25, 0, 25, 9)
  await settles()
  expect(done).toEqual([shareOf(25, { mostCounted: 14 }), shareOf(25, { mostCounted: 9 })])
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 9 } })
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
  expect(done).toEqual([shareOf(10), { freezeForMs: undefined, used: 10 }])
})

test('a share that shrinks and was used goes on with calls, and each beat frees those that count no more', async () => {
  const { budgets, done, state, answer } = createBudgets()
  budgets.request()
  answer(25)
  budgets.request()
  state.used = 25
  done.length = 0
  answer(10)
  await settles()
  expect(done).toEqual([shareOf(10, { mostCounted: 25 })])
  state.used = 18
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 19 } })
  state.used = 3
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 10 } })
  expect(done.slice(1)).toEqual([shareOf(10, { mostCounted: 19 }), shareOf(10)])
})

test('a share that shrinks leaves nothing for a next call if none is wanted', () => {
  const { budgets, state, answer, answersWith } = createBudgets()
  budgets.request()
  answer(25)
  budgets.request()
  state.used = 18
  state.demand = 0
  answersWith(10)
  answer(10)
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, demand: 0, used: 18 } })
})

test('texts are spaced by what a share grows to, and a beat soon asks for it', async () => {
  const { budgets, clock, done, answer, answersWith } = createBudgets()
  budgets.request()
  answersWith(9)
  answer(0, 0, 9)
  expect(done).toEqual([shareOf(0, { growsTo: 9 })])
  await clock.advance(149, settles)
  expect(done).toHaveLength(1)
  await clock.advance(1, settles)
  expect(done.slice(1)).toEqual([{ freezeForMs: undefined, used: 0 }, shareOf(9)])
  await clock.advance(10_000, settles)
  expect(done).toHaveLength(3)
})

test('a call that the budget delays makes a beat soon if the demand has doubled since the last one', async () => {
  const { budgets, clock, done, state, answer, delay } = createBudgets()
  budgets.request()
  answer(5)
  Object.assign(state, { demand: 13, growing: 9 })
  delay()
  await clock.advance(1000, settles)
  expect(done).toEqual([shareOf(5)])
  Object.assign(state, { demand: 14, growing: 10 })
  delay()
  delay()
  await clock.advance(1000, settles)
  expect(done.slice(1)).toEqual([{ freezeForMs: undefined, used: 5 }])
})

test('a call that the budget delays makes a beat soon if the share is still to grow', async () => {
  const { budgets, clock, done, state, answer, answersWith, delay } = createBudgets()
  Object.assign(state, { demand: 5, growing: 5, used: 1 })
  budgets.request()
  answer(5, 0, 8)
  await clock.advance(1000, settles)
  expect(done).toHaveLength(1)
  state.used = 4
  answersWith(8)
  delay()
  await clock.advance(1000, settles)
  expect(done.slice(1)).toEqual([{ freezeForMs: undefined, used: 5 }, shareOf(8)])
  delay()
  await clock.advance(1000, settles)
  expect(done).toHaveLength(3)
})

test('a call of another kind than a growing text makes a beat soon if it needs more than the last one said', async () => {
  const { budgets, clock, done, state, answer, delay } = createBudgets()
  budgets.request()
  answer(5)
  delay()
  await clock.advance(1000, settles)
  expect(done).toEqual([shareOf(5)])
  state.demand = 8
  delay()
  await clock.advance(1000, settles)
  expect(done.slice(1)).toEqual([{ freezeForMs: undefined, used: 5 }])
})

test('a process that was refused or has expired has no share until it is admitted again', () => {
  const { budgets, done, state, answer } = createBudgets()
  budgets.request()
  answer(12)
  state.isHeld = false
  state.used = 3
  expect(budgets.request()).toEqual({ 'tg/calls': { ...usual, used: 3 } })
  answer(8)
  expect(done).toEqual([shareOf(12), shareOf(0), shareOf(8)])
})

test('a pause that a platform asked for is told at once, and once', async () => {
  const { budgets, done, answersWith, freeze } = createBudgets()
  budgets.request()
  answersWith(12)
  freeze(5000)
  await settles()
  expect(done).toEqual([{ freezeForMs: 5000, used: 0 }, shareOf(12)])
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
  expect(done).toEqual([shareOf(12), { freezeForMs: 5000, used: 12 }])
})

test('a pause of another process is kept here', () => {
  const { budgets, done, answer } = createBudgets()
  budgets.request()
  answer(12, 4000)
  expect(done).toEqual([shareOf(12), ['freeze', 4000]])
})
