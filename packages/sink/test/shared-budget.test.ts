import { createHandClock } from '@reply/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Priority } from '../src/deliver/operation.ts'
import { callHeedingLimits, createPacer, type Pacer } from '../src/deliver/pace.ts'
import { inTransitMs, type SharedBudget } from '../src/deliver/shared-budget.ts'
import { waitForTurn } from '../src/deliver/wait-for-turn.ts'
import type { Limits } from '../src/port/limits.ts'
import { PortError } from '../src/port/port-error.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { beginning } from './timeline.ts'

const windowMs = 1000
/** One call at a time in a chat, and otherwise only the client's budget. */
const perChat = { calls: 1000, perMs: 1 }

function limitsWith(calls: number, more: Partial<Limits> = {}): Limits {
  return { ...fakeLimits, perChat, perClient: { calls, perMs: windowMs }, ...more }
}

function setUp(limits = limitsWith(10), clock = createHandClock(beginning), lookAgainMs = 1000) {
  const pacer = createPacer({ clock, lookAgainMs })
  const of = (id: string) => pacer.chat({ id }, limits)
  const budget = budgetOf(pacer, limits)
  const spend = (calls: number): void => {
    for (let call = 0; call < calls; call++) of(`chat ${call}`).startCall()?.()
  }
  const waits = (priority: Priority = 'ask'): number => Math.max(0, of('another').readyAt(priority) - clock.now())
  return { clock, pacer, budget, of, spend, waits }
}

function budgetOf(pacer: Pacer, limits: Limits): SharedBudget {
  const { calls } = pacer.sharedBudgets(limits)
  if (!calls) throw new Error('The client has no budget.')
  return calls
}

describe('a share', () => {
  test('is the whole budget without a host that divides it', () => {
    const { budget, spend, waits } = setUp()
    expect([budget.total, budget.windowMs]).toEqual([10, 1000])
    spend(9)
    expect(waits()).toBe(0)
    spend(1)
    expect(waits()).toBe(1000)
  })

  test('counts at once if it is smaller, also for calls that were made before', async () => {
    const { clock, budget, spend, waits } = setUp()
    spend(4)
    await clock.advance(400)
    spend(4)
    budget.setShare(8)
    expect(waits()).toBe(600)
    budget.setShare(5)
    expect(waits()).toBe(600)
    budget.setShare(4)
    expect(waits()).toBe(1000)
  })

  test('counts after the window and the time in transit if it is larger', async () => {
    const { clock, budget, spend, waits } = setUp()
    budget.setShare(1)
    spend(1)
    budget.setShare(10)
    await clock.advance(windowMs)
    spend(1)
    expect(waits()).toBe(inTransitMs)
    await clock.advance(inTransitMs)
    expect(waits()).toBe(0)
  })

  test('is not delayed by being set again, also to less than was announced', async () => {
    const { clock, budget, waits } = setUp()
    budget.setShare(0)
    budget.setShare(8)
    await clock.advance(1000)
    for (const share of [8, 5, 6, 8]) budget.setShare(share)
    await clock.advance(250)
    expect(waits()).toBe(0)
  })

  test('counts sooner if the other processes have not used it lately', async () => {
    const { clock, budget, spend, waits } = setUp()
    budget.setShare(1)
    spend(1)
    budget.setShare(8)
    budget.setShare(9, { afterMs: 0 })
    await clock.advance(inTransitMs)
    spend(7)
    expect(waits()).toBe(0)
    spend(1)
    expect(waits()).toBe(1000 - inTransitMs)
  })

  test('that grows early is used by callers that expected to wait for a minute', async () => {
    const { clock, budget, of, spend } = setUp(limitsWith(10, { perClient: { calls: 10, perMs: 60_000 } }))
    budget.setShare(1)
    spend(1)
    const calledAt: number[] = []
    const called = waitForTurn(of('waiting'), clock, async () => calledAt.push(clock.now()))
    const [owner, pace] = [{}, of('growing')]
    pace.setGrowingText(owner, 'edit')
    expect(pace.spacedAt(owner, 'edit', beginning) - beginning).toBe(1000)
    await clock.advance(5000)
    budget.setShare(10, { afterMs: 0 })
    await clock.advance(1000 + inTransitMs)
    await called
    expect(calledAt).toHaveLength(1)
  })

  test('of 0 allows no call until a share arrives', async () => {
    const { clock, budget, of, waits } = setUp()
    budget.setShare(0)
    expect(waits()).toBeGreaterThan(0)
    let calls = 0
    const called = waitForTurn(of('chat'), clock, async () => {
      calls += 1
    })
    await clock.advance(60_000)
    expect(calls).toBe(0)
    budget.setShare(1)
    await clock.advance(windowMs + inTransitMs + 1000)
    await called
    expect(calls).toBe(1)
  })

  test('of 1 leaves its call to every priority', async () => {
    const { clock, budget, spend, waits } = setUp()
    const all = ['ask', 'final', 'text', 'status'] as const
    budget.setShare(1)
    expect(all.map(waits)).toEqual([0, 0, 0, 0])
    spend(1)
    expect(all.map(waits)).toEqual([1000, 1000, 1000, 1000])
    await clock.advance(1000)
    expect(all.map(waits)).toEqual([0, 0, 0, 0])
  })

  test('keeps the reserves of its own size', () => {
    const { budget, spend, waits } = setUp(limitsWith(100))
    budget.setShare(10)
    spend(5)
    const all = ['ask', 'final', 'text', 'status'] as const
    expect(all.map(waits)).toEqual([0, 0, 0, 1000])
    spend(3)
    expect(all.map(waits)).toEqual([0, 0, 1000, 1000])
    spend(1)
    expect(all.map(waits)).toEqual([0, 1000, 1000, 1000])
  })

  test('that shrank below what was used goes on at its own rate, while few enough calls count', async () => {
    const { clock, budget, of, spend, waits } = setUp(limitsWith(20))
    for (let call = 0; call < 10; call++) {
      spend(1)
      await clock.advance(50)
    }
    budget.setShare(4, { mostCounted: 11 })
    expect(waits()).toBe(200)
    // Without it, the process would be silent until six of its calls no longer count.
    budget.setShare(4)
    expect(waits()).toBe(800)
    budget.setShare(4, { mostCounted: 10 })
    expect(waits()).toBe(500)
    const [owner, pace] = [{}, of('growing')]
    pace.setGrowingText(owner, 'edit')
    budget.setShare(4, { mostCounted: 20 })
    expect(pace.spacedAt(owner, 'edit', clock.now()) - clock.now()).toBeCloseTo(1000 / 3, 2)
  })

  test('with a lower number of calls that may count leaves those to all priorities, and spaces texts as before', async () => {
    const { clock, budget, of, spend, waits } = setUp(limitsWith(20), createHandClock(beginning), 250)
    const priorities = ['ask', 'final', 'text', 'status'] as const
    const [owner, pace] = [{}, of('growing')]
    pace.setGrowingText(owner, 'edit')
    const spaced = (): number => pace.spacedAt(owner, 'edit', clock.now()) - clock.now()
    spend(3)
    await clock.advance(100)
    spend(3)
    budget.setShare(20, { mostCounted: 20 })
    const before = spaced()
    budget.setShare(20, { mostCounted: 7 })
    expect(spaced()).toBe(before)
    expect(priorities.map((priority) => waits(priority))).toEqual([0, 0, 0, 0])
    spend(1)
    // It looks again, because more may count then.
    expect(priorities.map((priority) => waits(priority))).toEqual([250, 250, 250, 250])
    budget.setShare(20, { mostCounted: 8 })
    expect(waits()).toBe(0)
    budget.setShare(20)
    expect(waits()).toBe(0)
  })

  test('that grows spaces growing texts by what it grows to', () => {
    const { budget, of } = setUp(limitsWith(100))
    const [owner, pace] = [{}, of('chat')]
    pace.setGrowingText(owner, 'edit')
    pace.startCall('edit')?.()
    budget.setShare(5, { growsTo: 50 })
    expect(pace.spacedAt(owner, 'edit', beginning) - beginning).toBe(25)
    budget.setShare(5)
    expect(pace.spacedAt(owner, 'edit', beginning) - beginning).toBe(250)
  })

  test('spaces growing texts by its size', () => {
    const { budget, of } = setUp(limitsWith(100))
    const [owner, pace] = [{}, of('chat')]
    pace.setGrowingText(owner, 'edit')
    budget.setShare(10)
    const few = pace.spacedAt(owner, 'edit', beginning) - beginning
    budget.setShare(1)
    expect([few, pace.spacedAt(owner, 'edit', beginning) - beginning]).toEqual([125, 1000])
  })

  test.each([-1, 0.5, 11, Number.NaN])('of %d is refused', (share) => {
    const { budget } = setUp()
    expect(() => budget.setShare(share)).toThrow(/use a whole number from 0 to 10/)
  })
})

describe('the demand', () => {
  test('is what was made lately, and what the budget delays', async () => {
    const { clock, budget, of, spend } = setUp()
    expect(budget.demand()).toBe(0)
    for (let second = 0; second < 10; second++) {
      spend(4)
      await clock.advance(1000)
    }
    expect(budget.demand()).toBe(4)
    budget.setShare(0)
    for (const id of ['one', 'two', 'three']) of(id).readyAt('final')
    expect(budget.demand()).toBe(7)
    await clock.advance(20_000)
    expect(budget.demand()).toBe(0)
  })

  test('of a process that began a moment ago is what it made since', async () => {
    const { clock, budget, spend } = setUp()
    spend(3)
    expect(budget.demand()).toBe(3)
    await clock.advance(1000)
    spend(5)
    await clock.advance(1000)
    expect(budget.demand()).toBe(4)
    await clock.advance(2000)
    expect(budget.demand()).toBe(2)
  })

  test('does not count calls that wait for their chat or a pause', () => {
    const { budget, of } = setUp(limitsWith(10, { perChat: { calls: 1, perMs: 60_000 } }))
    of('chat').startCall()?.()
    of('chat').readyAt('ask')
    expect(budget.demand()).toBe(1)
  })

  test('of a growing text is as often as it may be shown, also if that is more than the total', () => {
    const { budget, of } = setUp(limitsWith(10, { editIntervalMs: 500 }))
    budget.setShare(1)
    for (let text = 0; text < 6; text++) of(`chat ${text}`).setGrowingText({}, 'edit')
    expect(budget.demand()).toBe(12)
    of('slower').setGrowingText({}, 'edit', 1000)
    expect(budget.demand()).toBe(13)
  })

  test('of a growing text is small in its first 1.5 seconds, unless another process began it', async () => {
    const { clock, budget, of } = setUp({
      ...limitsWith(98, { editIntervalMs: 600 }),
      perClient: { calls: 98, perMs: 60_000 },
    })
    const [short, begun, pausing] = ['short', 'begun', 'pausing'].map((id) => of(id))
    for (const pace of [short, pausing]) pace?.setGrowingText(pace, 'post')
    begun?.setGrowingText(begun, 'edit')
    expect(budget.growing()).toBe(20 + 100 + 20)
    // A pause does not make a text young again.
    pausing?.setGrowingText(pausing, undefined)
    await clock.advance(1500)
    pausing?.setGrowingText(pausing, 'edit')
    expect(budget.growing()).toBe(300)
    short?.endGrowingText(short, 'settled')
    short?.setGrowingText(short, 'post')
    expect(budget.growing()).toBe(220)
  })

  test('of a short text is two calls at least, if it wants as many', () => {
    const { budget, of } = setUp(limitsWith(10, { editIntervalMs: 400 }))
    of('fast').setGrowingText({}, 'post')
    of('slow').setGrowingText({}, 'post', 1000)
    expect(budget.growing()).toBe(3)
  })

  test('tells how much growing texts want and may have, and does not count their calls twice', () => {
    const { budget, of } = setUp(limitsWith(10, { editIntervalMs: 500 }))
    const [pace, owner] = [of('chat'), {}]
    pace.setGrowingText(owner, 'edit')
    for (let call = 0; call < 5; call++) pace.startCall('edit')?.()
    of('other').startCall()?.()
    expect([budget.demand(), budget.growing(), budget.mostGrowing]).toEqual([3, 2, 8])
  })

  test('of growing texts in one chat is what that chat takes', () => {
    const { budget, of } = setUp(limitsWith(100, { editIntervalMs: 10, perChat: { calls: 10, perMs: 2000 } }))
    for (let text = 0; text < 5; text++) of('chat').setGrowingText({}, 'edit')
    // A fifth of a chat's budget is not for growing texts.
    expect(budget.demand()).toBe(4)
  })

  test('of a growing text that pauses goes on for three seconds, and ends with the text', async () => {
    const { clock, budget, of } = setUp(limitsWith(10, { editIntervalMs: 500 }))
    const [pausing, ended] = [of('pausing'), of('ended')].map((pace) => ({ pace, owner: {} }))
    for (const one of [pausing, ended]) one?.pace.setGrowingText(one.owner, 'edit')
    expect(budget.demand()).toBe(4)
    ended?.pace.endGrowingText(ended.owner, 'settled')
    pausing?.pace.setGrowingText(pausing.owner, undefined)
    await clock.advance(3000)
    expect(budget.demand()).toBe(2)
    await clock.advance(1)
    expect(budget.demand()).toBe(0)
  })

  test('keeps the calls of a text that has ended, and not those of one that another process goes on with', () => {
    const { budget, of } = setUp()
    const [settled, stopped] = [of('settled'), of('stopped')]
    for (const pace of [settled, stopped]) for (let call = 0; call < 3; call++) pace.startCall()?.()
    settled.endGrowingText({}, 'settled')
    expect(budget.demand()).toBe(6)
    stopped.endGrowingText({}, 'stopped')
    expect(budget.demand()).toBe(3)
  })
})

test('growing texts that are due take turns: the one that was written longest ago goes first', async () => {
  const { clock, budget, of } = setUp()
  budget.setShare(4)
  for (const at of [0, 100, 200, 300]) {
    await clock.advance(at === 0 ? 0 : 100)
    of(`other ${at}`).startCall()?.()
  }
  const texts = [1000, 3000, 2000].map((agoMs) => ({ pace: of(`${agoMs}`), owner: {}, writtenAt: beginning - agoMs }))
  const look = (waiting = texts) =>
    waiting.map(({ pace, owner, writtenAt }) => {
      pace.setGrowingText(owner, 'edit')
      const at = Math.max(pace.readyAt('text', 'edit'), pace.spacedAt(owner, 'edit', writtenAt))
      return at - beginning
    })
  look()
  // One of the four calls is not for texts.
  expect(look()).toEqual([1300, 1100, 1200])
  await clock.advance(800)
  const [last, first, next] = texts
  if (!last || !first || !next) expect.fail()
  first.pace.startCall('edit')?.()
  expect(look([last, next])).toEqual([1300, 1200])
})

test('the used calls are told by how long they count', async () => {
  const { clock, budget, of, spend } = setUp(limitsWith(10, { perClient: { calls: 10, perMs: 3000 } }))
  spend(3)
  await clock.advance(650)
  spend(1)
  of('slow').startCall()
  await clock.advance(1000)
  expect(budget.usedFor()).toEqual([
    { calls: 1, forMs: 3000 },
    { calls: 1, forMs: 2000 },
    { calls: 3, forMs: 1400 },
  ])
})

test('a caller that the budget begins to delay is reported once', async () => {
  const { budget, of, spend } = setUp()
  let delayed = 0
  const stop = budget.onDelayed(() => {
    delayed += 1
  })
  budget.setShare(1)
  of('chat').readyAt('ask')
  expect(delayed).toBe(0)
  spend(1)
  const pace = of('chat')
  for (let looks = 0; looks < 3; looks++) pace.readyAt('ask')
  expect(delayed).toBe(1)
  stop()
  of('other').readyAt('ask')
  expect(delayed).toBe(1)
})

test('the used calls are those of the last window, and those in flight', async () => {
  const { clock, budget, of, spend } = setUp()
  spend(3)
  await clock.advance(600)
  const end = of('slow').startCall()
  expect(budget.used()).toBe(4)
  await clock.advance(400)
  expect(budget.used()).toBe(1)
  end?.()
  await clock.advance(999)
  expect(budget.used()).toBe(1)
  await clock.advance(1)
  expect(budget.used()).toBe(0)
})

describe('a pause of the client', () => {
  const refusal = (scope: 'chat' | 'client') => async () => {
    throw new PortError('rate-limited', 'Too many.', { retryAfterMs: 3000, scope })
  }

  test('is reported, and that of a chat is not', async () => {
    const { budget, of } = setUp()
    const paused: number[] = []
    const stop = budget.onFrozen((forMs) => paused.push(forMs))
    await callHeedingLimits(of('one'), refusal('chat')).catch(() => {})
    expect(paused).toEqual([])
    await callHeedingLimits(of('one'), refusal('client')).catch(() => {})
    expect(paused).toEqual([3000])
    stop()
    await callHeedingLimits(of('one'), refusal('client')).catch(() => {})
    expect(paused).toEqual([3000])
  })

  test('from another process pauses all chats, and is not reported again', async () => {
    const { clock, budget, waits } = setUp()
    const paused: number[] = []
    budget.onFrozen((forMs) => paused.push(forMs))
    budget.freeze(3000)
    budget.freeze(1000)
    expect([waits(), paused]).toEqual([3000, []])
    await clock.advance(3000)
    expect(waits()).toBe(0)
  })

  test('is one of the kinds that the platform counts with the call', () => {
    const perKind = {
      edit: { scope: 'client', calls: 4, perMs: 2000 },
      react: { scope: 'chat', calls: 1, perMs: 9 },
    } as const
    const limits = limitsWith(10, { perKind })
    const { pacer, of } = setUp(limits)
    const budgets = pacer.sharedBudgets(limits)
    expect(Object.entries(budgets).map(([name, { total, windowMs: ms }]) => [name, total, ms])).toEqual([
      ['calls', 10, 1000],
      ['edit', 4, 2000],
    ])
    const paused: string[] = []
    for (const [name, budget] of Object.entries(budgets)) budget.onFrozen(() => paused.push(name))
    of('chat').freeze(1000, 'client', 'edit')
    of('chat').freeze(1000, 'client', 'post')
    expect(paused).toEqual(['edit', 'calls'])
    budgets.edit?.freeze(9000)
    expect([of('new').readyAt('ask', 'edit') - beginning, of('new').readyAt('ask', 'post') - beginning]).toEqual([
      9000, 1000,
    ])
  })
})

test('typing counts where the platform counts it, and leaves half of the budget', async () => {
  const { clock, of, waits } = setUp(limitsWith(10, { countsTyping: true }))
  const typing = Array.from({ length: 5 }, (_, chat) => of(`chat ${chat}`).startTyping())
  expect(of('chat').typingReadyAt()).toBeGreaterThan(clock.now())
  for (const endCall of typing) endCall()
  expect([of('chat').typingReadyAt() - clock.now(), waits()]).toEqual([1000, 0])
})

test('callers in many chats do not take the last call of the client at once', async () => {
  const { clock, of } = setUp(limitsWith(3))
  let calls = 0
  const callers = Array.from({ length: 9 }, (_, chat) =>
    waitForTurn(of(`chat ${chat}`), clock, async () => {
      calls += 1
    }),
  )
  await clock.advance(0, rest)
  expect(calls).toBe(3)
  await clock.advance(2000, rest)
  await Promise.all(callers)
})

async function rest(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

/** A process asks the host for its part of the budget. */
interface Beat {
  readonly process: number
  /** How much it wants, in twentieths of the budget. */
  readonly wanted: number
  readonly afterMs: number
}

interface Play {
  readonly total: number
  /** Whether the host gives out only what was not used for a window. Otherwise the processes wait for that. */
  readonly hostWaits: boolean
  readonly processes: number
  readonly beats: readonly Beat[]
  /** How long each call takes to the platform and back, in ms, by turns. */
  readonly latencies: readonly (readonly [number, number])[]
}

const plays: fc.Arbitrary<Play> = fc.record({
  total: fc.integer({ min: 1, max: 30 }),
  hostWaits: fc.boolean(),
  processes: fc.integer({ min: 2, max: 5 }),
  beats: fc.array(
    fc.record({
      process: fc.nat({ max: 4 }),
      wanted: fc.nat({ max: 20 }),
      afterMs: fc.integer({ min: 0, max: 800 }),
    }),
    { minLength: 5, maxLength: 12 },
  ),
  latencies: fc.array(fc.tuple(fc.nat({ max: inTransitMs }), fc.nat({ max: 100 })), { minLength: 1, maxLength: 10 }),
})

const chatsEach = 15
const tickMs = 25

/** What the platform received: the calls of all processes. */
interface Arrival {
  readonly process: number
  readonly at: number
}

/** Plays processes under full load, whose shares move from one to another, on one clock. */
async function play({ total, hostWaits, processes, beats, latencies }: Play) {
  const clock = createHandClock(beginning)
  const limits = limitsWith(total)
  const all = Array.from({ length: processes }, (_, process) => {
    const { pacer, budget } = setUp(limits, clock)
    // The first one had all before the others began.
    if (process > 0) budget.setShare(0)
    const paces = Array.from({ length: chatsEach }, (__, chat) => pacer.chat({ id: `${process} ${chat}` }, limits))
    return { budget, paces, share: process === 0 ? total : 0 }
  })
  const arrivals: Arrival[] = []
  /** What was given back, and from when others may have it. */
  let reserved: readonly { readonly calls: number; readonly until: number }[] = []
  let calls = 0
  const work = async (forMs: number): Promise<void> => {
    for (let passed = 0; passed < forMs; passed += tickMs) {
      for (const [process, { paces }] of all.entries()) for (const pace of paces) makeCall(process, pace)
      await clock.advance(Math.min(tickMs, forMs - passed))
    }
  }
  for (const { process: index, wanted, afterMs } of beats) {
    await work(afterMs)
    const one = all[index % processes]
    if (!one) continue
    reserved = reserved.filter(({ until }) => until > clock.now())
    const taken = [...all.map(({ share }) => share), ...reserved.map((part) => part.calls)]
    const free = total - taken.reduce((sum, part) => sum + part, 0)
    const share = Math.min(Math.round((wanted * total) / 20), one.share + free)
    if (hostWaits && share < one.share)
      reserved = [...reserved, { calls: one.share - share, until: clock.now() + windowMs }]
    one.share = share
    one.budget.setShare(share, hostWaits ? { afterMs: 0 } : {})
  }
  await work(2 * windowMs + inTransitMs)
  const settledAt = clock.now()
  await work(2 * windowMs)
  return { arrivals, settledAt, shares: all.map(({ share }) => share) }

  /** Starts a call if the pace allows it. It arrives later, and its answer later still. */
  function makeCall(process: number, pace: ReturnType<Pacer['chat']>): void {
    if (pace.readyAt('ask') > clock.now()) return
    const endCall = pace.startCall()
    if (!endCall) return
    const [there, back] = latencies[calls++ % latencies.length] ?? [0, 0]
    clock.after(there, () => {
      arrivals.push({ process, at: clock.now() })
      clock.after(back, endCall)
    })
  }
}

/** The whole budget moves while the first process's calls are slow to arrive, and those of the second are not. */
function callsOnTheirWay(hostWaits: boolean): Play {
  const [slow, fast] = [
    Array.from({ length: 5 }, () => [inTransitMs, 0] as const),
    Array.from({ length: 5 }, () => [0, 0] as const),
  ]
  const given = { process: 0, wanted: 0, afterMs: 100 }
  const taken = { process: 1, wanted: 20, afterMs: hostWaits ? windowMs : 0 }
  return { total: 5, hostWaits, processes: 2, beats: [given, taken], latencies: [...slow, ...fast] }
}

/** Counts the most calls within any window that the platform would have seen. */
function mostInWindow(arrivals: readonly Arrival[]): number {
  return Math.max(
    0,
    ...arrivals.map(({ at }) => arrivals.filter((one) => one.at > at - windowMs && one.at <= at).length),
  )
}

test('processes that move shares under full load never make more calls than the budget, and use their shares', async () => {
  await fc.assert(
    fc.asyncProperty(plays, async (plan) => {
      const { arrivals, settledAt, shares } = await play(plan)
      expect(mostInWindow(arrivals)).toBeLessThanOrEqual(plan.total)
      for (const [process, share] of shares.entries()) {
        const made = arrivals.filter((one) => one.process === process && one.at > settledAt).length
        // A call counts until a window after its end, so slow ones cost throughput.
        expect(made).toBeGreaterThanOrEqual(share)
        if (share === 0) expect(made).toBe(0)
      }
    }),
    { numRuns: 40, examples: [[callsOnTheirWay(false)], [callsOnTheirWay(true)]] },
  )
})
