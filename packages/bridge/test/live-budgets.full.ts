import { expect, test } from 'vitest'
import { type Play, playAnswers } from './live-answers.ts'
import { slack, telegram, testRestarts } from './restarted-answers.ts'

/** Plays the same answers with one member that runs on, and with four that restart one after the other. */
async function playBoth(play: Omit<Play, 'members' | 'restarts'>) {
  const alone = await playAnswers({ ...play, members: 1, restarts: 0 })
  const restarted = await playAnswers({ ...play, members: 4, restarts: 4 })
  return { alone, restarted }
}

test('most rolling restarts pause streams on Slack for a few seconds, though they use up the limit of a minute', async () => {
  const play = { ...slack, live: 4, shortPerSecond: 0 }
  const alone = await playAnswers({ ...play, members: 1, restarts: 0 })
  expect(alone.longestPauseMs).toBeLessThan(3000)
  const pauses: number[] = []
  for (let seed = 1; seed <= 3; seed++) {
    const restarted = await playAnswers({ ...play, members: 4, restarts: 4, seed })
    pauses.push(restarted.longestPauseMs)
    expect(restarted.growingCallsWithin(60_000)).toBeLessThanOrEqual(98)
  }
  expect(pauses.toSorted((one, other) => one - other)[1]).toBeLessThan(alone.longestPauseMs + 4000)
  expect(Math.max(...pauses)).toBeLessThan(alone.longestPauseMs + 6000)
})

test('four members with streams on Slack write as often as one', async () => {
  const play = { ...slack, live: 4, shortPerSecond: 0, restarts: 0 }
  const alone = await playAnswers({ ...play, members: 1 })
  const four = await playAnswers({ ...play, members: 4 })
  expect(four.longestPauseMs).toBeLessThan(alone.longestPauseMs + 500)
  expect(four.calls).toBeGreaterThanOrEqual(alone.calls)
})

test('a rolling restart pauses answers on Telegram for less than 2 s if they leave room in the limit', async () => {
  const { alone, restarted } = await playBoth({ ...telegram, live: 12, shortPerSecond: 0 })
  expect(alone.longestPauseMs).toBeLessThan(1200)
  expect(restarted.longestPauseMs).toBeLessThan(2000)
})

// `live-budgets.nightly.ts` plays more of them.
testRestarts([2, 3, 4, 5, 6])

test('a rolling restart with a hundred answers on Telegram keeps the limit of the bot', async () => {
  const restarted = await playAnswers({ ...telegram, live: 100, shortPerSecond: 0, members: 4, restarts: 4 })
  expect(restarted.callsWithin(1000)).toBeLessThanOrEqual(25)
})
