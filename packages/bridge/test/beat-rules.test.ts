import fc from 'fast-check'
import { expect, test } from 'vitest'
import { beatAfter, leaveAfter, type MemberRows } from '../src/store/beat-rules.ts'
import type { Beat, BeatRequest } from '../src/store/store.ts'

const nothing: MemberRows = { members: [], leases: [], shares: [], freezes: [] }
const forMs = 4000

/** A state with a clock that only `pass` advances. */
function createState() {
  let rows = nothing
  let now = 1_000_000
  return {
    pass: (ms: number) => {
      now += ms
    },
    now: () => now,
    beat: (member: string, request: Partial<BeatRequest> = {}) => {
      const effect = beatAfter(rows, { member, forMs, layout: '1', wants: {}, budgets: {}, ...request }, now)
      rows = effect.rows
      return effect.beat
    },
    leave: (member: string) => {
      rows = leaveAfter(rows, member, now)
    },
  }
}

function shareOf(beat: Beat): number {
  if (beat.type !== 'admitted') throw new Error(`refused: ${beat.reason}`)
  return beat.budgets.bot?.share ?? 0
}

const member = fc.constantFrom('a', 'b', 'c', 'd')
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant('beat' as const), member, demand: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('leave' as const), member }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(1, 300, 1000, 5000) }) },
)

/** Parameters of one budget, from Telegram's to one that is too small for all. */
const budget = fc.record({ total: fc.constantFrom(0, 1, 3, 25, 48), windowMs: fc.constantFrom(1000, 7000) })

test('members together never may use more than the total, also counted within any window', () => {
  fc.assert(
    fc.property(budget, fc.array(step, { maxLength: 80 }), ({ total, windowMs }, steps) => {
      const state = createState()
      /** What each member could use, and until when. */
      let parts: readonly { member: string; share: number; until: number }[] = []
      const end = (member: string) => {
        parts = parts.map((one) => (one.member === member ? { ...one, until: Math.min(one.until, state.now()) } : one))
      }
      for (const next of steps) {
        if (next.type === 'pass') state.pass(next.ms)
        if (next.type === 'leave') {
          state.leave(next.member)
          end(next.member)
        }
        if (next.type === 'beat') {
          const { member, demand } = next
          const isOnlyOne = parts.every(({ until }) => until <= state.now())
          const share = shareOf(state.beat(member, { budgets: { bot: { total, windowMs, demand } } }))
          end(member)
          parts = [...(isOnlyOne ? [] : parts), { member, share, until: state.now() + forMs }]
        }
        const from = state.now() - windowMs
        const most = ['a', 'b', 'c', 'd'].map((member) =>
          Math.max(0, ...parts.filter((one) => one.member === member && one.until > from).map(({ share }) => share)),
        )
        expect(most.reduce((sum, share) => sum + share)).toBeLessThanOrEqual(total)
      }
      // All of it is used within a few beats, by demand, and each member has at least 1.
      const rounds = Math.ceil((2 * (windowMs + forMs)) / 1000) + 1
      const living = ['a', 'b', 'c'].slice(0, Math.max(1, Math.min(3, total)))
      let last: readonly number[] = []
      for (let round = 0; round < rounds; round++) {
        last = living.map((one) =>
          shareOf(state.beat(one, { budgets: { bot: { total, windowMs, demand: one === 'a' ? 10 : 0 } } })),
        )
        state.pass(1000)
      }
      expect(last.reduce((all, share) => all + share, 0)).toBe(total)
      if (total > 0) expect(last).toEqual([total - living.length + 1, ...living.slice(1).map(() => 1)])
    }),
    { numRuns: 500 },
  )
})

test('a share that others get was not used for a window, unless a bridge starts alone', () => {
  const state = createState()
  const bot = (demand: number) => ({ budgets: { bot: { total: 24, windowMs: 2000, demand } } })
  expect(shareOf(state.beat('a', bot(1)))).toBe(24)
  expect(shareOf(state.beat('b', bot(1)))).toBe(0)
  expect(shareOf(state.beat('a', bot(1)))).toBe(12)
  state.pass(1999)
  expect(shareOf(state.beat('b', bot(1)))).toBe(0)
  state.pass(1)
  expect(shareOf(state.beat('b', bot(1)))).toBe(12)
  // It dies, and what it had stays reserved for a window after that.
  state.pass(forMs - 1)
  state.beat('a', bot(1))
  state.pass(2000)
  expect(shareOf(state.beat('a', bot(1)))).toBe(12)
  state.pass(1)
  expect(shareOf(state.beat('a', bot(1)))).toBe(24)
  state.leave('a')
  expect(shareOf(state.beat('c', bot(1)))).toBe(24)
})
