import fc from 'fast-check'
import { expect, test } from 'vitest'
import { beatAfter, leaveAfter, type MemberRows } from '../src/store/beat-rules.ts'
import type { BeatRequest, UsedCalls } from '../src/store/store.ts'

const nothing: MemberRows = { members: [], leases: [], shares: [], freezes: [] }
const forMs = 4000
/** How long before its expiry a member stops its calls, in ms. */
const marginMs = 500

interface BudgetLimit {
  readonly total: number
  readonly windowMs: number
  readonly mostGrowing?: number
}

/** A state with a clock that only `pass` advances, and one budget. */
function createState({ mostGrowing, ...limit }: BudgetLimit) {
  const { windowMs } = limit
  let rows = nothing
  let now = 1_000_000
  return {
    pass: (ms: number) => {
      now += ms
    },
    now: () => now,
    /** Beats, and returns the share. */
    beat: (member: string, demand = 0, used = 0, growing = 0): number => {
      const budgets: BeatRequest['budgets'] = { bot: { ...limit, mostGrowing, demand, growing, used } }
      const { beat, ...effect } = beatAfter(rows, { member, forMs, layout: '1', wants: {}, budgets }, now)
      rows = effect.rows
      if (beat.type !== 'admitted') throw new Error(`refused: ${beat.reason}`)
      return beat.budgets.bot?.share ?? 0
    },
    leave: (member: string, used?: UsedCalls) => {
      rows = leaveAfter(rows, member, now, used)
    },
    /** A beat forgets the calls of members whose last beat was before this time. */
    forgetsBefore: (member: string) => {
      const shares = rows.shares.filter(({ isCounted }) => !isCounted)
      const living = shares.filter(({ expiresAt }) => expiresAt > now)
      const isCounting = shares.some(
        (row) => row.member === member && row.expiresAt + windowMs > now && row.reserved > 0,
      )
      if (isCounting || living.some(({ reserved }) => reserved > 0)) return Number.NEGATIVE_INFINITY
      return Math.min(now, ...living.map(({ since }) => since))
    },
  }
}

type State = ReturnType<typeof createState>

/** A process that makes calls within its share, as the pacer does, and beats. */
interface Process {
  readonly member: string
  share: number
  /** How many calls may count until the next beat, though the share is smaller. */
  most: number
  calls: number[]
  /** When the store got its last beat. */
  beatAt: number
  heldUntil: number
  /** A beat that the store has not got yet. */
  asked?: { readonly at: number; readonly demand: number; readonly growing: number; readonly used: number }
  /** An answer of the store that has not arrived yet. */
  answer?: { readonly at: number; readonly share: number }
  isFrozen: boolean
}

function createProcess(member: string): Process {
  const never = Number.NEGATIVE_INFINITY
  return { member, share: 0, most: 0, calls: [], beatAt: never, heldUntil: never, isFrozen: false }
}

const types = ['call', 'ask', 'serve', 'hear', 'beat', 'lose', 'leave', 'die', 'freeze', 'wake', 'pass'] as const
const weights = { call: 8, ask: 5, serve: 5, hear: 5, beat: 8, lose: 1, leave: 1, die: 1, freeze: 1, wake: 1, pass: 8 }
const step = fc.record({
  type: fc.oneof(...types.map((type) => ({ weight: weights[type], arbitrary: fc.constant(type) }))),
  index: fc.nat(3),
  count: fc.nat(48),
  demand: fc.nat(20),
  growing: fc.nat(20),
  ms: fc.constantFrom(1, 100, 300, 1000, 3000, 5000),
})

/** Parameters of one budget, from Telegram's to one that is too small for all. */
const budget = fc.record({ total: fc.constantFrom(0, 1, 3, 25, 48), windowMs: fc.constantFrom(1000, 7000, 60_500) })

/** Plays processes on one state, and calls `check` after each step with the calls that count within a window. */
function play(
  state: State,
  windowMs: number,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
  check: (calls: number) => void,
) {
  let created = 0
  const processes = Array.from({ length: 4 }, () => createProcess(`${created++}`))
  /** Calls of processes that died, and of those that left and told of them. */
  let left: Pick<Process, 'beatAt' | 'calls'>[] = []
  const counted: number[] = []
  const recent = (calls: readonly number[]) => calls.filter((at) => at > state.now() - windowMs)
  const used = (one: Process) => recent(one.calls).length
  const mostNow = (one: Process) => Math.max(one.share, Math.min(one.most, used(one) + 1))
  const ask = (one: Process, demand: number, growing: number) => {
    if (one.isFrozen || one.asked || one.answer) return
    if (state.now() >= one.heldUntil) {
      one.share = 0
      one.most = 0
    }
    one.most = mostNow(one)
    one.asked = { at: state.now(), demand, growing, used: Math.max(one.most, used(one)) }
  }
  const serve = (one: Process) => {
    if (!one.asked) return
    // A bridge that starts alone can't wait for what dead ones may have used.
    const before = state.forgetsBefore(one.member)
    left = left.filter(({ beatAt }) => beatAt >= before)
    for (const other of processes) if (other !== one && other.beatAt < before) other.calls = []
    one.beatAt = state.now()
    const { at, demand, growing, used: told } = one.asked
    one.answer = { at, share: state.beat(one.member, demand, told, growing) }
    delete one.asked
  }
  const hear = (one: Process) => {
    if (one.isFrozen || !one.answer) return
    one.share = one.answer.share
    one.most = mostNow(one)
    one.heldUntil = one.answer.at + forMs - marginMs
    delete one.answer
  }
  for (const { type, index, count, demand, growing, ms } of steps) {
    const one = processes[index] ?? createProcess('')
    if (type === 'pass') state.pass(ms)
    if (type === 'call' && !one.isFrozen && state.now() < one.heldUntil)
      for (let call = 0; call < count && used(one) < Math.max(one.share, one.most); call++) one.calls.push(state.now())
    if (type === 'ask' || type === 'beat') ask(one, demand, growing)
    if (type === 'serve' || type === 'beat') serve(one)
    if (type === 'hear' || type === 'beat') hear(one)
    if (type === 'lose') delete one.answer
    if (type === 'leave' && !one.isFrozen && !one.asked && !one.answer) {
      const calls = recent(one.calls)
      state.leave(one.member, { bot: calls.map((at) => ({ calls: 1, forMs: at + windowMs - state.now() })) })
      counted.push(...calls)
      one.calls = []
      one.share = 0
      one.most = 0
      one.heldUntil = Number.NEGATIVE_INFINITY
    }
    if (type === 'die') {
      left.push(one)
      processes[index] = createProcess(`${created++}`)
    }
    if (type === 'freeze') one.isFrozen = true
    if (type === 'wake') one.isFrozen = false
    check(recent([...counted, ...[...left, ...processes].flatMap(({ calls }) => calls)]).length)
  }
}

test('members that join, die, leave and freeze never make more calls in a window than the total', () => {
  let most = 0
  fc.assert(
    fc.property(budget, fc.array(step, { maxLength: 150 }), ({ total, windowMs }, steps) => {
      play(createState({ total, windowMs }), windowMs, steps, (calls) => {
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
      fc.array(step, { maxLength: 60 }),
      fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
      ({ total, windowMs }, steps, demands) => {
        const state = createState({ total, windowMs })
        play(state, windowMs, steps, () => {})
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

test('a lone member gets all at once after another one died, and all but the counted calls after one left', () => {
  const state = createState({ total: 24, windowMs: 60_500 })
  expect(state.beat('a')).toBe(24)
  state.pass(forMs)
  expect(state.beat('b')).toBe(24)
  state.leave('b', { bot: [{ calls: 3, forMs: 60_500 }] })
  expect(state.beat('c')).toBe(21)
  state.pass(forMs)
  expect(state.beat('d')).toBe(21)
  state.pass(60_500 - forMs)
  expect(state.beat('d', 0, 21)).toBe(24)
})

test('a member that starts again before the lease of the dead one ended gets all once it did', () => {
  const state = createState({ total: 49, windowMs: 60_500 })
  expect(state.beat('a')).toBe(49)
  state.pass(1000)
  expect(state.beat('a again')).toBe(0)
  state.pass(forMs - 1001)
  expect(state.beat('a again')).toBe(0)
  state.pass(1)
  expect(state.beat('a again')).toBe(49)
})

test('members that all start again before the leases of the dead ones ended divide all once they did', () => {
  const state = createState({ total: 48, windowMs: 60_500 })
  for (const member of ['a', 'b', 'a', 'b']) state.beat(member)
  state.pass(1000)
  for (const member of ['a again', 'b again']) expect(state.beat(member)).toBe(0)
  state.pass(forMs - 1000)
  for (const member of ['a again', 'b again']) expect(state.beat(member)).toBe(24)
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
