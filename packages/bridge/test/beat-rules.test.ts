import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countedCalls } from '../../sink/src/deliver/shared-budget.ts'
import { beatAfter, leaveAfter, type MemberRows } from '../src/store/beat-rules.ts'
import type { BeatRequest, BudgetShare, UsedCalls } from '../src/store/store.ts'

const nothing: MemberRows = { members: [], leases: [], shares: [], freezes: [] }
const forMs = 4000
/** How long before its expiry a member stops its calls, in ms. */
const marginMs = 500

interface BudgetLimit {
  readonly total: number
  readonly windowMs: number
  readonly mostGrowing?: number
}

/** What a member tells with a beat. */
type Told = Pick<BeatRequest['budgets'][string], 'demand' | 'growing' | 'used' | 'usedFor'>

/** What a member tells that has made no calls and wants none. */
const idle: Told = { demand: 0, growing: 0, used: 0, usedFor: [] }

/** A state with a clock that only `pass` advances, and one budget. */
function createState(limit: BudgetLimit) {
  let rows = nothing
  let now = 1_000_000
  const beatWith = (member: string, told: Told): BudgetShare => {
    const budgets = { bot: { ...limit, ...told } }
    const { beat, ...effect } = beatAfter(rows, { member, forMs, layout: '1', wants: {}, budgets }, now)
    rows = effect.rows
    if (beat.type !== 'admitted') throw new Error(`refused: ${beat.reason}`)
    return beat.budgets.bot ?? expect.fail('The beat has no share.')
  }
  return {
    pass: (ms: number) => {
      now += ms
    },
    now: () => now,
    beatWith,
    /** Beats without telling for how long calls count, and returns the share. */
    beat: (member: string, demand = 0, used = 0, growing = 0): number =>
      beatWith(member, { demand, growing, used }).share,
    leave: (member: string, used?: UsedCalls) => {
      rows = leaveAfter(rows, member, now, used)
    },
  }
}

type State = ReturnType<typeof createState>

/** A process that makes calls within its share, as the pacer does, and beats. */
interface Process {
  readonly member: string
  /** How many calls may count, as the last beat said. */
  given: number
  /** How many may count until the next beat. More than what was given after that shrank. */
  most: number
  calls: number[]
  heldUntil: number
  /** A beat that the store has not got yet. */
  asked?: Told & { readonly at: number }
  /** An answer of the store that has not arrived yet. */
  answer?: { readonly at: number; readonly given: number }
  isFrozen: boolean
}

function createProcess(member: string): Process {
  return { member, given: 0, most: 0, calls: [], heldUntil: Number.NEGATIVE_INFINITY, isFrozen: false }
}

const types = ['call', 'ask', 'serve', 'hear', 'beat', 'lose', 'leave', 'die', 'freeze', 'wake', 'pass'] as const
const weights = { call: 8, ask: 5, serve: 5, hear: 5, beat: 8, lose: 1, leave: 1, die: 1, freeze: 1, wake: 1, pass: 8 }
const step = fc.record({
  type: fc.oneof(...types.map((type) => ({ weight: weights[type], arbitrary: fc.constant(type) }))),
  index: fc.nat(3),
  count: fc.nat(48),
  demand: fc.nat(20),
  growing: fc.nat(20),
  /** Whether it tells for how long its calls count. */
  isTelling: fc.nat(4).map((number) => number > 0),
  ms: fc.constantFrom(1, 100, 300, 1000, 3000, 5000),
})

type Plays = Pick<typeof budget extends fc.Arbitrary<infer B> ? B : never, 'windowMs' | 'count'>
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Parameters of one budget, from Telegram's to one that is too small for all, and how many processes there are. */
const budget = fc.record({
  total: fc.constantFrom(0, 1, 3, 25, 48),
  windowMs: fc.constantFrom(1000, 7000, 20_000, 60_500),
  count: fc.integer({ min: 1, max: 4 }),
})

/** Plays processes on one state, and calls `check` after each step with the calls that count within a window. */
function play(
  state: State,
  { windowMs, count: processCount }: Plays,
  steps: readonly Step[],
  check: (calls: number) => void,
) {
  let created = 0
  const processes = Array.from({ length: processCount }, () => createProcess(`${created++}`))
  /** Calls of processes that are gone. */
  let left: readonly number[] = []
  const recent = (calls: readonly number[]) => calls.filter((at) => at > state.now() - windowMs)
  const used = (one: Process) => recent(one.calls).length
  const usedFor = (one: Process) => {
    const ends = one.calls.map((at) => at + windowMs)
    return countedCalls(ends, windowMs, state.now())
  }
  const mostNow = (one: Process) => Math.max(one.given, Math.min(one.most, used(one) + 1))
  const ask = (one: Process, { demand, growing, isTelling }: Pick<Step, 'demand' | 'growing' | 'isTelling'>) => {
    if (one.isFrozen || one.asked || one.answer) return
    if (state.now() >= one.heldUntil) {
      one.given = 0
      one.most = 0
    }
    one.most = mostNow(one)
    const told = { demand, growing, used: Math.max(one.most, used(one)), usedFor: isTelling ? usedFor(one) : undefined }
    one.asked = { at: state.now(), ...told }
  }
  const serve = (one: Process) => {
    if (!one.asked) return
    const { at, ...told } = one.asked
    one.answer = { at, given: state.beatWith(one.member, told).most }
    delete one.asked
  }
  const hear = (one: Process) => {
    if (one.isFrozen || !one.answer) return
    one.given = one.answer.given
    one.most = mostNow(one)
    one.heldUntil = one.answer.at + forMs - marginMs
    delete one.answer
  }
  for (const { type, index, count, ms, ...wanted } of steps) {
    const place = index % processCount
    const one = processes[place] ?? expect.fail('There is no process.')
    const end = () => {
      left = recent([...left, ...one.calls])
      processes[place] = createProcess(`${created++}`)
    }
    if (type === 'pass') state.pass(ms)
    if (type === 'call' && !one.isFrozen && state.now() < one.heldUntil)
      for (let call = 0; call < count && used(one) < one.most; call++) one.calls.push(state.now())
    if (type === 'ask' || type === 'beat') ask(one, wanted)
    if (type === 'serve' || type === 'beat') serve(one)
    if (type === 'hear' || type === 'beat') hear(one)
    if (type === 'lose') delete one.answer
    if (type === 'leave' && !one.isFrozen && !one.asked && !one.answer) {
      state.leave(one.member, { bot: usedFor(one) })
      end()
    }
    if (type === 'die') end()
    if (type === 'freeze') one.isFrozen = true
    if (type === 'wake') one.isFrozen = false
    check(recent([...left, ...processes.flatMap(({ calls }) => calls)]).length)
  }
}

test('members that join, die, leave and freeze never make more calls in a window than the total', () => {
  let most = 0
  fc.assert(
    fc.property(budget, fc.array(step, { maxLength: 400, size: 'max' }), ({ total, ...plays }, steps) => {
      play(createState({ total, windowMs: plays.windowMs }), plays, steps, (calls) => {
        most = Math.max(most, calls)
        expect(calls).toBeLessThanOrEqual(total)
      })
    }),
    { numRuns: 2000 },
  )
  expect(most).toBeGreaterThan(25)
})

test('all of a budget is used within a few beats once members come and go no more', () => {
  fc.assert(
    fc.property(
      budget,
      fc.array(step, { maxLength: 60, size: 'max' }),
      fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
      ({ total, count, windowMs }, steps, demands) => {
        const state = createState({ total, windowMs })
        play(state, { windowMs, count }, steps, () => {})
        state.pass(forMs + windowMs)
        let shares: readonly number[] = []
        for (let round = 0; round < 4; round++) {
          shares = demands.map((demand, index) => state.beat(`last ${index}`, demand, shares[index]))
          state.pass(1000)
        }
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(total)
        for (const share of shares) expect(share).toBeGreaterThanOrEqual(total < shares.length ? 0 : 1)
        const fits = demands.reduce((sum, demand) => sum + Math.max(1, demand), 0) <= total
        if (fits)
          for (const [index, share] of shares.entries()) expect(share).toBeGreaterThanOrEqual(demands[index] ?? 0)
      },
    ),
    { numRuns: 500 },
  )
})

test('a member that joins gets what others do not use as soon as they know of it', () => {
  const state = createState({ total: 49, windowMs: 60_500 })
  expect(state.beat('a')).toBe(49)
  expect(state.beat('b')).toBe(0)
  // Until it beats again, it may make calls with what it had.
  expect(state.beat('a', 3, 49)).toBe(25)
  expect(state.beat('b', 1)).toBe(0)
  expect(state.beat('a', 3, 25)).toBe(25)
  expect(state.beat('b', 1)).toBe(24)
})

test('a member that joins waits for calls that others made', () => {
  const state = createState({ total: 49, windowMs: 60_500 })
  state.beat('a')
  state.beat('b')
  state.beat('a', 40, 49)
  expect(state.beat('a', 40, 44)).toBe(44)
  expect(state.beat('b', 40)).toBe(5)
  expect(state.beat('a', 40, 44)).toBe(24)
  expect(state.beat('a', 40, 30)).toBe(24)
  expect(state.beat('b', 40, 5)).toBe(19)
})

test('a demand that others leave room for is met at once, and the rest of the budget stays with those who are idle', () => {
  const state = createState({ total: 49, windowMs: 60_500 })
  const shares = new Map<string, number>()
  const beatAll = (demands: Readonly<Record<string, number>>) => {
    for (const member of ['a', 'b', 'c', 'd'])
      shares.set(member, state.beat(member, demands[member] ?? 0, shares.get(member) ?? 0))
    return [...shares.values()]
  }
  for (let round = 0; round < 3; round++) beatAll({})
  expect(beatAll({})).toEqual([12, 12, 12, 13])
  expect(beatAll({ a: 5 })).toEqual([12, 11, 11, 12])
  beatAll({ a: 5 })
  expect(beatAll({ a: 5 })).toEqual([15, 11, 11, 12])
  for (let round = 0; round < 3; round++) beatAll({ a: 100 })
  expect(beatAll({ a: 100 })).toEqual([46, 1, 1, 1])
})

test('the calls of a member that left are free for others one by one, as they no longer count', () => {
  const state = createState({ total: 24, windowMs: 60_500 })
  for (const member of ['a', 'b', 'a', 'b']) state.beat(member, 24, 0)
  state.leave('b', {
    bot: [
      { calls: 2, forMs: 60_000 },
      { calls: 9, forMs: 5000 },
    ],
  })
  expect(state.beat('a', 24, 12)).toBe(13)
  state.pass(4999)
  expect(state.beat('a', 24, 13)).toBe(13)
  state.pass(1)
  expect(state.beat('a', 24, 13)).toBe(22)
  for (let second = 0; second < 55; second++) {
    expect(state.beat('a', 24, 22)).toBe(22)
    state.pass(1000)
  }
  expect(state.beat('a', 24, 22)).toBe(24)
})

test('a lone member that starts after an idle one died gets all but a few calls, and all but the counted ones after one left', () => {
  const state = createState({ total: 49, windowMs: 60_500 })
  expect(state.beatWith('a', idle)).toMatchObject({ share: 49, most: 7 })
  state.pass(forMs)
  expect(state.beatWith('b', idle)).toMatchObject({ share: 42, most: 6 })
  state.leave('b', { bot: [{ calls: 3, forMs: 60_500 }] })
  expect(state.beatWith('c', idle).share).toBe(39)
  state.pass(60_499)
  expect(state.beatWith('c', idle).share).toBe(39)
  state.pass(1)
  expect(state.beatWith('c', idle).share).toBe(49)
})

test('a lone member that starts after one died that used all gets the calls of that one by one, as they no longer count', () => {
  const state = createState({ total: 49, windowMs: 60_500 })
  const calls = Array.from({ length: 49 }, (_, call) => state.now() - (call * 60_000) / 49)
  const usedFor = countedCalls(
    calls.map((at) => at + 60_500),
    60_500,
    state.now(),
  )
  state.beatWith('a', { ...idle, usedFor })
  expect(state.beatWith('a', { ...idle, used: 49, usedFor }).most).toBe(49)
  state.pass(forMs)
  expect(state.beatWith('b', idle).share).toBe(0)
  const shares = Array.from({ length: 10 }, () => {
    state.pass(2000)
    return state.beatWith('b', idle).share
  })
  expect(shares).toEqual([0, 2, 4, 5, 7, 9, 10, 12, 14, 15])
})

test('a bridge that crashes again and again leaves the next one a call', () => {
  const state = createState({ total: 49, windowMs: 60_500 })
  for (let life = 0; life < 15; life++) {
    expect(state.beatWith(`${life}`, idle).share).toBeGreaterThan(0)
    state.pass(forMs)
  }
})

test('calls that no longer counted when a member died free none of those that it may have made in their place', () => {
  const state = createState({ total: 24, windowMs: 7000 })
  const beat = (calls: number, countsForMs: number) =>
    state.beatWith('a', { demand: 0, growing: 0, used: 24, usedFor: [{ calls, forMs: countsForMs }] })
  beat(20, 4200)
  state.pass(forMs + 200)
  expect(state.beatWith('b', idle).share).toBe(0)
  state.pass(6799)
  expect(state.beatWith('b', idle).share).toBe(0)
  state.pass(1)
  expect(state.beatWith('b', idle).share).toBe(24)
})

test('the calls that members made before an outage count for the process that is the first one back', () => {
  const state = createState({ total: 48, windowMs: 60_500 })
  const usedFor = [{ calls: 24, forMs: 60_000 }]
  for (const member of ['a', 'b', 'a', 'b']) state.beatWith(member, { ...idle, demand: 24, used: 24, usedFor })
  state.pass(forMs + 2000)
  expect(state.beatWith('new', { ...idle, demand: 48 }).share).toBe(0)
  expect(state.beatWith('a', { ...idle, demand: 48, used: 24, usedFor }).share).toBe(24)
})

test('members that all start again after idle ones died divide what those left', () => {
  const state = createState({ total: 48, windowMs: 60_500 })
  for (const member of ['a', 'b', 'a', 'b']) state.beatWith(member, idle)
  state.pass(1000)
  for (const member of ['a again', 'b again', 'a again', 'b again']) state.beatWith(member, idle)
  state.pass(forMs - 1000)
  const shares = ['a again', 'b again'].map((member) => state.beatWith(member, idle).share)
  expect(shares).toEqual([24, 24])
})

test('a member without calls counts those of one that knew of it and died', () => {
  const state = createState({ total: 48, windowMs: 60_500 })
  state.beat('a', 48)
  expect(state.beat('b')).toBe(0)
  state.pass(1)
  expect(state.beat('a', 48, 48)).toBe(47)
  state.pass(1000)
  expect(state.beat('b')).toBe(0)
  state.pass(forMs - 1001)
  expect(state.beat('b')).toBe(0)
  state.pass(1)
  for (let second = 0; second < 60; second++) {
    for (const member of ['b', 'c']) expect(state.beat(member)).toBe(0)
    state.pass(1000)
  }
  state.pass(501)
  for (const member of ['b', 'c']) expect(state.beat(member)).toBe(24)
})

test('other calls than those of growing texts are met first, whatever texts want', () => {
  const state = createState({ total: 49, windowMs: 60_500, mostGrowing: 40 })
  const share = (member: string, demand: number, growing: number) => {
    for (let round = 0; round < 3; round++) {
      state.beat('texts', 1210, 0, 1210)
      state.beat(member, demand, 0, growing)
    }
    return state.beat(member, demand, 0, growing)
  }
  // Ten texts on Slack without streams. A fifth of the edits is not for them.
  expect(share('asks', 1, 0)).toBe(4)
  expect(share('asks', 20, 0)).toBe(20)
  expect(share('asks', 48, 0)).toBe(48)
})

test('texts get as much of a budget as others in another process', () => {
  const state = createState({ total: 98, windowMs: 60_500 })
  for (let round = 0; round < 3; round++) for (const member of ['a', 'b']) state.beat(member, 0, 0)
  const shares = { a: 0, b: 0 }
  for (let round = 0; round < 3; round++) {
    shares.a = state.beat('a', 363, 0, 363)
    shares.b = state.beat('b', 121, 0, 121)
  }
  expect(shares).toEqual({ a: 73, b: 25 })
})

test('a member that comes back after an outage leaves others what they may have used', () => {
  const state = createState({ total: 24, windowMs: 60_500 })
  for (const member of ['a', 'b', 'a', 'b']) state.beat(member)
  state.pass(forMs)
  expect(state.beat('a')).toBe(12)
  expect(state.beat('b')).toBe(12)
})
