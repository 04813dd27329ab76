import { systemClock } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { pause, steadyClock, stopwatch } from '../src/clock.ts'
import { createStallTimer } from '../src/drive/runs/stall-timer.ts'
import { setStage, watchAll } from './drive/stage.ts'
import { run, running } from './make.ts'

const hourMs = 3_600_000

describe('a steady clock', () => {
  test('continues from the latest time if the wall clock is set back', async () => {
    const hand = createHandClock(1000)
    const clock = steadyClock(hand)
    expect(clock.now()).toBe(1000)
    hand.step(-hourMs)
    expect(clock.now()).toBe(1000)
    await hand.advance(500)
    expect(clock.now()).toBe(1500)
    expect(clock.monotonic()).toBe(hand.monotonic())
  })

  test('follows the wall clock forward, and stands still without a monotonic one', () => {
    const hand = createHandClock(1000)
    const clock = steadyClock({ now: hand.now, after: hand.after })
    hand.step(hourMs)
    expect(clock.now()).toBe(1000 + hourMs)
    hand.step(-hourMs)
    expect(clock.now()).toBe(1000 + hourMs)
  })

  test("is what the computer's is: a time since the epoch, and a monotonic one", () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(hourMs)
    expect(systemClock.monotonic?.()).toBeLessThan(Date.now())
  })
})

describe('a stopwatch', () => {
  test('counts the time that a computer slept, in which the monotonic clock stands still', async () => {
    const hand = createHandClock()
    const elapsedMs = stopwatch(hand)
    await hand.advance(500)
    expect(elapsedMs()).toBe(500)
    hand.step(hourMs)
    expect(elapsedMs()).toBe(hourMs + 500)
  })

  test('counts on if the wall clock is set back', async () => {
    const hand = createHandClock()
    const elapsedMs = stopwatch(steadyClock(hand))
    hand.step(-hourMs)
    await hand.advance(500)
    expect(elapsedMs()).toBe(500)
  })

  test('counts sleep after the wall clock was set back, if it began after that', () => {
    const hand = createHandClock()
    const clock = steadyClock(hand)
    const before = clock.now()
    hand.step(-hourMs)
    expect(clock.now()).toBe(before)
    const elapsedMs = stopwatch(clock)
    hand.step(5000)
    expect(elapsedMs()).toBe(5000)
  })
})

describe('a wall clock that is set back in mid-run', () => {
  test('makes no duration negative: the answer comes after the question, the end after the beginning', async () => {
    const { server, clock, opencode, rest } = setStage({ scenario: 'permission-once' })
    const replies = watchAll(opencode)
    await rest()
    clock.step(hourMs)
    while (server.publish(1)) {
      await rest()
      clock.step(-1000)
    }
    await rest()
    const [reply] = replies
    const [ask] = reply?.asks ?? []
    expect(ask?.status).toBe('answered')
    expect(lengthMs(ask?.askedAt, ask?.closedAt)).toBeGreaterThanOrEqual(0)
    expect(lengthMs(reply?.startedAt, reply?.settledAt)).toBeGreaterThanOrEqual(0)
    await opencode.close()
  })

  test.each([hourMs, -hourMs])('neither stalls a reply nor delays a stall: set by %d ms', async (byMs) => {
    const hand = createHandClock()
    const stalled: string[] = []
    const timer = createStallTimer(steadyClock(hand), { first: 10_000, later: 10_000 }, (sessionID) =>
      stalled.push(sessionID),
    )
    const { reply } = run(running)
    timer.noteStep({ reply, changes: [], run: 1 })
    await hand.advance(5000)
    hand.step(byMs)
    timer.noteStep({ reply, changes: [{ type: 'messageRemoved', messageID: 'm0' }], run: 1 })
    await hand.advance(9000)
    expect(stalled).toEqual([])
    hand.step(byMs)
    await hand.advance(1000)
    expect(stalled).toEqual([reply.sessionID])
    timer.stop()
  })
})

/** The time between two times that must be known, in ms. */
function lengthMs(from: number | undefined, to: number | undefined): number {
  if (from === undefined || to === undefined) return expect.fail(`A time is missing: ${from} to ${to}.`)
  return to - from
}

test('a pause ends after its time, or when its signal aborts', async () => {
  const clock = createHandClock()
  const abort = new AbortController()
  const ended: string[] = []
  const pauses = [
    pause(clock, 1000).then(() => ended.push('whole')),
    pause(clock, 1000, abort.signal).then(() => ended.push('aborted')),
    pause(clock, 1000, AbortSignal.abort()).then(() => ended.push('never begun')),
  ]
  abort.abort()
  await Promise.all(pauses.slice(1))
  expect([ended.toSorted(), clock.pending]).toEqual([['aborted', 'never begun'], 1])
  await clock.advance(1000)
  await pauses[0]
  expect(ended).toContain('whole')
})
