import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import type { Priority } from '../src/deliver/operation.ts'
import { type ChatPace, createPacer } from '../src/deliver/pace.ts'
import type { CallKind } from '../src/port/limits.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { beginning } from './timeline.ts'

function spend(pace: ChatPace, calls: number): void {
  for (let count = 0; count < calls; count++) pace.startCall()?.()
}

function waits(pace: ChatPace, priority: Priority, now = beginning): number {
  return Math.max(0, pace.readyAt(priority) - now)
}

function setUp(limits = {}) {
  const clock = createHandClock(beginning)
  const pacer = createPacer({ clock })
  const of = (id: string, thread?: string) => pacer.chat({ id, thread }, { ...fakeLimits, ...limits })
  return { clock, of, pace: of('chat') }
}

describe('a budget of five calls in five seconds', () => {
  test.each<[number, readonly [number, number, number, number]]>([
    [0, [0, 0, 0, 0]],
    [2, [0, 0, 0, 0]],
    [3, [0, 0, 0, 5000]],
    [4, [0, 0, 5000, 5000]],
    [5, [5000, 5000, 5000, 5000]],
  ])('after %i calls: ask, final, text and status wait', (calls, expected) => {
    const { pace } = setUp()
    spend(pace, calls)
    expect((['ask', 'final', 'text', 'status'] as const).map((priority) => waits(pace, priority))).toEqual(expected)
  })

  test('recovers as calls age', async () => {
    const { clock, pace } = setUp()
    spend(pace, 1)
    await clock.advance(1000)
    spend(pace, 4)
    expect(waits(pace, 'ask', clock.now())).toBe(4000)
    expect(waits(pace, 'text', clock.now())).toBe(5000)
    await clock.advance(4000)
    expect(waits(pace, 'ask', clock.now())).toBe(0)
  })

  test('of one call leaves that call to every priority', () => {
    const { pace } = setUp({ perChat: { calls: 1, perMs: 1000 } })
    expect(waits(pace, 'status')).toBe(0)
    spend(pace, 1)
    expect(waits(pace, 'ask')).toBe(1000)
  })

  test('is shared by the threads of a chat, but not with another chat', () => {
    const { of, pace } = setUp()
    spend(of('chat', 'a thread'), 5)
    expect(waits(pace, 'final')).toBe(5000)
    expect(waits(of('another'), 'final')).toBe(0)
  })
})

test('all chats of a client share its budget', () => {
  const { of } = setUp({ perClient: { calls: 2, perMs: 1000 } })
  spend(of('one'), 1)
  spend(of('two'), 1)
  expect(waits(of('three'), 'final')).toBe(1000)
})

test('a freeze applies to its scope', async () => {
  const { clock, of, pace } = setUp({ perClient: { calls: 100, perMs: 1000 } })
  pace.freeze(600_000, 'chat')
  expect(waits(pace, 'ask')).toBe(600_000)
  expect(waits(of('another'), 'ask')).toBe(0)
  of('another').freeze(1000, 'client')
  expect(waits(of('another'), 'ask')).toBe(1000)
  await clock.advance(600_000)
  expect(waits(pace, 'ask', clock.now())).toBe(0)
})

test('a shorter freeze does not end a longer one', () => {
  const { pace } = setUp()
  pace.freeze(9000, 'chat')
  pace.freeze(1000, 'chat')
  expect(waits(pace, 'final')).toBe(9000)
})

test('a freeze of the client applies even if the client has no budget', () => {
  const { of, pace } = setUp()
  pace.freeze(3000, 'client')
  expect(waits(of('another'), 'final')).toBe(3000)
})

test('one call is in flight per chat, and waiting callers are told when it is over', () => {
  const { of, pace } = setUp()
  const endCall = pace.startCall()
  expect(of('chat').startCall()).toBeUndefined()
  expect(of('another').startCall()).toBeTypeOf('function')
  let notified = 0
  pace.onFree(() => {
    notified += 1
  })
  endCall?.()
  expect(notified).toBe(1)
  pace.startCall()?.()
  expect(notified).toBe(1)
})

test('tells when the last of several calls may be sent', () => {
  const { pace } = setUp({ perChat: { calls: 2, perMs: 1000 } })
  expect([1, 2, 3, 5].map((calls) => Math.max(0, pace.readyAt('ask', 'post', calls) - beginning))).toEqual([
    0, 0, 1000, 2000,
  ])
})

test('a freeze of unknown scope applies to the client once a second chat is frozen in its time', async () => {
  const { clock, of } = setUp()
  of('one').freeze(5000, 'unknown')
  expect(waits(of('three'), 'ask')).toBe(0)
  await clock.advance(5000)
  of('two').freeze(4000, 'unknown')
  expect(waits(of('three'), 'ask', clock.now())).toBe(0)
  of('one').freeze(2000, 'unknown')
  expect(waits(of('three'), 'ask', clock.now())).toBe(2000)
})

test('both budgets of a chat hold', async () => {
  const { clock, pace } = setUp({ perChat: { calls: 4, perMs: 60_000 }, burst: { calls: 3, perMs: 3000 } })
  spend(pace, 3)
  expect(waits(pace, 'ask')).toBe(3000)
  await clock.advance(3000)
  spend(pace, 1)
  expect(waits(pace, 'ask', clock.now())).toBe(57_000)
})

test('beside another sink, every priority but asks leaves one call, even of a small budget', () => {
  const { of } = setUp({ perChat: { calls: 3, perMs: 3000 } })
  const [one, two] = [of('chat'), of('chat')]
  spend(one, 2)
  const priorities = ['ask', 'final', 'text', 'status'] as const
  expect(priorities.map((priority) => waits(one, priority))).toEqual([0, 0, 0, 3000])
  expect(priorities.map((priority) => waits(two, priority))).toEqual([0, 3000, 3000, 3000])
})

test('a final text goes before growing texts of others, but not before asks and other final texts', () => {
  const { of, pace } = setUp()
  const [one, two] = [{}, {}]
  pace.setUrgent(one, { priority: 'final', waitingSince: 0 })
  const behind = (owner: object): readonly boolean[] =>
    (['ask', 'final', 'text', 'status'] as const).map((priority) => pace.isBehind(owner, priority))
  expect([behind(one), behind(two)]).toEqual([Array(4).fill(false), [false, false, true, true]])
  expect(of('another').isBehind(two, 'text')).toBe(false)
  pace.setUrgent(two, { priority: 'ask', waitingSince: 0 })
  expect([behind(one), behind(two)]).toEqual([Array(4).fill(true), Array(4).fill(false)])
})

test('the oldest ask of a chat goes first, until it is shown', () => {
  const { of, pace } = setUp()
  const [one, two, three] = [{}, {}, {}]
  pace.setUrgent(two, { priority: 'ask', waitingSince: beginning + 5 })
  of('chat', 'a thread').setUrgent(one, { priority: 'ask', waitingSince: beginning })
  expect([one, two, three].map((owner) => pace.isBehind(owner, 'ask'))).toEqual([false, true, true])
  expect(of('another').isBehind(three, 'ask')).toBe(false)
  let notified = 0
  pace.onFree(() => {
    notified += 1
  })
  pace.setUrgent(one, undefined)
  expect(notified).toBe(1)
  expect([one, two, three].map((owner) => pace.isBehind(owner, 'ask'))).toEqual([true, false, true])
})

describe('growing text', () => {
  const spaced = (pace: ChatPace, owner: object, kind: CallKind = 'edit') =>
    pace.spacedAt(owner, kind, beginning) - beginning

  test("is spaced evenly over a text's share of the budget", () => {
    const { pace } = setUp()
    const owner = {}
    expect(pace.spacedAt(owner, 'edit', Number.NEGATIVE_INFINITY)).toBe(Number.NEGATIVE_INFINITY)
    spend(pace, 1)
    expect(spaced(pace, owner)).toBe(1250)
  })

  test('of a window that other calls have used is spaced by what is left of it', () => {
    const { pace } = setUp()
    spend(pace, 3)
    expect(spaced(pace, {})).toBe(2500)
  })

  test('of several replies shares a budget evenly, until one has had no more text for three seconds', async () => {
    const { clock, of } = setUp({ perClient: { calls: 10, perMs: 5000 } })
    const owners = [1, 2, 3, 4].map((id) => ({ pace: of(`${id}`) }))
    for (const owner of owners) owner.pace.setGrowingText(owner, 'edit')
    const [one, two] = owners
    if (!one || !two) throw new Error('There are four.')
    expect(spaced(one.pace, one)).toBe(2500)
    two.pace.setGrowingText(two, undefined)
    expect(spaced(one.pace, one)).toBe(2500)
    await clock.advance(3000)
    expect(spaced(one.pace, one)).toBe(1875)
    two.pace.setGrowingText(two, 'edit')
    await clock.advance(1500)
    expect(spaced(one.pace, one)).toBe(2500)
    two.pace.endGrowingText(two, 'settled')
    expect(spaced(one.pace, one)).toBe(1875)
  })

  test('of a long reply waits for none of the short ones that begin together, until they have grown for 1.5 seconds', async () => {
    const { clock, of } = setUp({ perChat: { calls: 1000, perMs: 1 }, perClient: { calls: 10, perMs: 5000 } })
    const nextIn = (pace: ChatPace, owner: object) => pace.spacedAt(owner, 'edit', clock.now()) - clock.now()
    const long = of('long')
    long.setGrowingText(long, 'edit')
    await clock.advance(2000)
    const short = ['one', 'two', 'three', 'four'].map((id) => of(id))
    for (const pace of short) {
      pace.setGrowingText(pace, 'post')
      pace.setGrowingText(pace, 'edit')
    }
    const count = () => [long, ...short].map((pace) => nextIn(pace, pace) / 625)
    expect(count()).toEqual([1, 5, 5, 5, 5])
    await clock.advance(1499)
    // A pause does not make a text young again.
    short[0]?.setGrowingText(short[0], undefined)
    short[0]?.setGrowingText(short[0], 'edit')
    short[1]?.endGrowingText(short[1], 'settled')
    expect(count()).toEqual([1, 4, 5, 4, 4])
    await clock.advance(1)
    expect([long, ...short.slice(2)].map((pace) => nextIn(pace, pace) / 625)).toEqual([4, 4, 4])
  })

  test('of ten chats takes its turn, however many of the others took theirs just before', async () => {
    const { clock, of } = setUp({ perChat: { calls: 1, perMs: 3000 }, perClient: { calls: 12, perMs: 12_000 } })
    const chats = Array.from({ length: 10 }, (_, id) => ({ owner: {}, pace: of(`${id}`) }))
    for (const { owner, pace } of chats) {
      pace.setGrowingText(owner, 'edit')
      pace.startCall('edit')?.()
    }
    await clock.advance(12_000)
    for (const { owner, pace } of chats) {
      expect(Math.max(pace.readyAt('text', 'edit'), spaced(pace, owner) + beginning)).toBe(clock.now())
      pace.startCall('edit')?.()
    }
  })

  test('that used more than its part goes on, while the window has room', async () => {
    const { clock, of } = setUp({ perChat: { calls: 1000, perMs: 1 }, perClient: { calls: 100, perMs: 60_000 } })
    const [one, other] = [of('one'), of('other')]
    const [owner, another] = [{}, {}]
    one.setGrowingText(owner, 'edit')
    for (let call = 0; call < 45; call++) {
      one.startCall('edit')?.()
      await clock.advance(600)
    }
    other.setGrowingText(another, 'edit')
    expect(one.spacedAt(owner, 'edit', clock.now()) - clock.now()).toBeLessThan(2000)
  })
})

describe('kinds of calls that the platform counts apart', () => {
  const perKind = {
    append: { scope: 'client', calls: 10, perMs: 5000 },
    edit: { scope: 'chat', calls: 2, perMs: 1000 },
  } as const
  const spendOf = (pace: ChatPace, kind: CallKind, calls: number) => {
    for (let count = 0; count < calls; count++) pace.startCall(kind)?.()
  }

  test('have a budget of their own, for each chat or for all', () => {
    const { of, pace } = setUp({ perKind })
    spendOf(pace, 'append', 10)
    expect([pace.readyAt('text', 'append'), of('another').readyAt('text', 'append')]).toEqual([
      beginning + 5000,
      beginning + 5000,
    ])
    expect(pace.readyAt('text', 'edit')).toBeLessThanOrEqual(beginning)
    spendOf(pace, 'edit', 2)
    expect(pace.readyAt('final', 'edit')).toBe(beginning + 1000)
    expect(of('another').readyAt('final', 'edit')).toBeLessThanOrEqual(beginning)
    expect(waits(pace, 'text')).toBe(0)
  })

  test('leave nothing for more urgent calls where only growing text is written', () => {
    const { pace } = setUp({ perKind })
    spendOf(pace, 'append', 9)
    expect(pace.readyAt('text', 'append')).toBeLessThanOrEqual(beginning)
  })

  test('pause alone when the platform asks for a pause after one of them', () => {
    const { of, pace } = setUp({ perKind })
    pace.freeze(3000, 'client', 'append')
    expect(of('another').readyAt('text', 'append')).toBe(beginning + 3000)
    expect(waits(pace, 'final')).toBe(0)
    expect(pace.pausedUntil()).toBe(beginning + 3000)
  })
})

describe('the calls of another process', () => {
  /** The same chat in another process, `laterMs` later. */
  const heir = async (of: ReturnType<typeof setUp>, laterMs: number, limits = {}) => {
    const recent = of.pace.recentCalls()
    const next = setUp(limits)
    await next.clock.advance(laterMs)
    if (recent) next.pace.addRecentCalls(JSON.parse(JSON.stringify(recent)))
    return next
  }

  test('count until they are too old', async () => {
    const before = setUp()
    spend(before.pace, 5)
    const { pace, clock } = await heir(before, 1500)
    expect(waits(pace, 'text', clock.now())).toBe(3500)
    expect(waits(pace, 'ask', clock.now())).toBe(3500)
    await clock.advance(3500)
    expect([waits(pace, 'ask', clock.now()), pace.recentCalls()]).toEqual([0, undefined])
  })

  test('count from the start of one whose end is not known', async () => {
    const before = setUp()
    spend(before.pace, 4)
    before.pace.startCall()
    const { pace, clock } = await heir(before, 100)
    expect(waits(pace, 'ask', clock.now())).toBe(4900)
  })

  test('count once, however many replies name them', async () => {
    const before = setUp()
    spend(before.pace, 2)
    const { pace, clock } = await heir(before, 100)
    spend(before.pace, 1)
    for (const recent of [before.pace.recentCalls(), before.pace.recentCalls()]) if (recent) pace.addRecentCalls(recent)
    expect(pace.recentCalls()?.times.all).toHaveLength(2)
    spend(pace, 2)
    expect(waits(pace, 'ask', clock.now())).toBe(0)
  })

  test('count beside those that were made before they became known, and once if they were made here', async () => {
    const before = setUp()
    spend(before.pace, 2)
    const recent = before.pace.recentCalls() ?? expect.fail('It made calls.')
    await before.clock.advance(1000)
    spend(before.pace, 1)
    before.pace.addRecentCalls(recent)
    expect(before.pace.recentCalls()?.times.all).toHaveLength(3)
    const { pace, clock } = setUp()
    await clock.advance(1000)
    spend(pace, 1)
    pace.addRecentCalls(recent)
    expect(pace.recentCalls()?.times.all).toEqual([...(recent.times.all ?? []), clock.now()])
  })

  test('count no longer than the budget if its clock is ahead', async () => {
    const before = setUp()
    await before.clock.advance(3_600_000)
    spend(before.pace, 5)
    before.pace.freeze(60_000, 'chat')
    const { pace, clock } = await heir(before, 0)
    expect(waits(pace, 'ask', clock.now())).toBe(5000)
    expect(pace.pausedUntil() - clock.now()).toBe(5000)
  })

  test('count apart where the platform counts their kind apart', async () => {
    const limits = { perKind: { edit: { calls: 2, perMs: 10_000, scope: 'chat' } } } as const
    const before = setUp(limits)
    for (let count = 0; count < 2; count++) before.pace.startCall('edit')?.()
    const { pace, clock } = await heir(before, 1000, limits)
    expect(pace.readyAt('ask', 'edit') - clock.now()).toBe(9000)
    expect(waits(pace, 'ask', clock.now())).toBe(0)
  })

  test('include typing notices and pauses', async () => {
    const before = setUp()
    for (let count = 0; count < 3; count++) before.pace.startTyping()()
    before.pace.freeze(3000, 'chat')
    const { pace, clock } = await heir(before, 500)
    expect(pace.typingReadyAt() - clock.now()).toBe(2500)
    expect(pace.pausedUntil() - clock.now()).toBe(2500)
  })
})

test('knows whether the newest message of its chat and thread is its own', () => {
  const { of, pace } = setUp()
  const [other, elsewhere] = [of('chat'), of('chat', 'thread')]
  expect(pace.hasPostedLast()).toBe(false)
  pace.startCall()?.(true)
  elsewhere.startCall()?.(true)
  other.startCall('edit')?.()
  expect([pace, other, elsewhere].map((one) => one.hasPostedLast())).toEqual([true, false, true])
  other.startCall()?.(true)
  expect([pace, other, elsewhere].map((one) => one.hasPostedLast())).toEqual([false, true, true])
})
