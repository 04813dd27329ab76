import { expect, test } from 'vitest'
import { pauseWithOneBridge, platforms, type WrittenAnswer } from '../scripts/scale/one-bridge.ts'

const live: WrittenAnswer = { from: 0, to: 150_000, isLive: true }

/** Answers of 2 s that begin at an even pace. */
function others(perMinute: number): readonly WrittenAnswer[] {
  return Array.from({ length: 2.5 * perMinute }, (_, index) => {
    const from = (60_000 / perMinute) * index
    return { from, to: from + 2000, isLive: false }
  })
}

test('an answer that is alone on a platform pauses for about its interval', async () => {
  const tg = await pauseWithOneBridge(platforms.tg, [live])
  expect([tg > platforms.tg.limits.editIntervalMs, tg < 1300]).toEqual([true, true])
  expect(await pauseWithOneBridge(platforms.slack, [live])).toBeLessThan(1000)
})

test('an answer on Slack goes on while others come and go', async () => {
  expect(await pauseWithOneBridge(platforms.slack, [live, ...others(10)])).toBeLessThan(2000)
})

test('the limit of a minute lets streams on Slack pause for more than 2 s if there are four', async () => {
  expect(await pauseWithOneBridge(platforms.slack, [live, live, live, live])).toBeGreaterThan(2000)
})
