import { expect, test } from 'vitest'
import { platforms } from '../scripts/scale/one-bridge.ts'
import { playAnswers } from './live-answers.ts'

export const slack = { platform: platforms.slack, steadyMs: 70_000 } as const
export const telegram = { platform: platforms.tg, steadyMs: 20_000 } as const

/** Plays what people of `npm run test:scale` write on each platform in a rolling restart. On Slack, that uses up the limit of a minute. */
export function testRestarts(seeds: readonly number[]): void {
  test.each([
    ['Telegram', 1700, 2500, { ...telegram, live: 4, shortPerSecond: 4.5 }],
    ['Slack', 1600, 2500, { ...slack, live: 1, shortPerSecond: 0.5 }],
    ['Slack, two at a time,', 2400, 4500, { ...slack, live: 2, shortPerSecond: 0.5 }],
  ])(
    'while others come and go, most rolling restarts pause answers on %s for less than %d ms, and none for %d ms',
    async (...given) => {
      const [, usualMs, mostMs, play] = given
      const pauses: number[] = []
      for (const seed of seeds) {
        const restarted = await playAnswers({ ...play, members: 4, restarts: 4, seed })
        pauses.push(restarted.longestPauseMs)
        if (play.platform === platforms.slack) expect(restarted.growingCallsWithin(60_000)).toBeLessThanOrEqual(98)
        else expect(restarted.callsWithin(1000)).toBeLessThanOrEqual(25)
      }
      expect(pauses.toSorted((one, other) => one - other)[Math.floor(seeds.length / 2)]).toBeLessThan(usualMs)
      expect(Math.max(...pauses)).toBeLessThan(mostMs)
    },
  )
}
