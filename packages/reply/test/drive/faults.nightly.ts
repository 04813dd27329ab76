import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Faulty, type LivePlayed, openFaulty, playLive } from './faulty.ts'
import { livePlanBySeed, problemsOfLive } from './live-plans.ts'
import { writeResult } from './matrix/results.ts'
import { approveLate } from './scenes.ts'

const runs = Number(process.env.REPLY_LIVE_PLANS ?? 500)
const firstSeed = Number(process.env.REPLY_SEED ?? 1)

let faulty: Faulty
let whole: LivePlayed

beforeAll(async () => {
  faulty = await openFaulty()
  whole = await playLive(faulty, {})
}, 120_000)
afterAll(async () => await faulty.close())

test('an approval that comes after the abort means nothing, 20 times', { timeout: 600_000 }, async () => {
  const failures: string[] = []
  for (let nth = 1; nth <= 20; nth++) {
    const found = await approveLate(faulty, nth % 2 === 0 ? 'late' : 'lateChild')
    failures.push(...found.map((problem) => `${nth}: ${problem}`))
  }
  writeResult('nightly-approvals', { runs: 20, failed: failures.length })
  expect(failures).toEqual([])
})

test(`${runs} live plans by chance from seed ${firstSeed} on, every 20th of which restarts the server`, {
  timeout: 3_600_000,
}, async () => {
  const failures: string[] = []
  let failed = 0
  let seed = firstSeed
  for (; seed < firstSeed + runs && failures.length < 25; seed++) {
    const plan = livePlanBySeed(seed, { events: whole.events, ...(seed % 20 === 0 && { restart: faulty.restart }) })
    const found = await problemsOfLive(faulty, plan, whole)
    if (found.length > 0) failed += 1
    failures.push(...found.slice(0, 2).map((problem) => `seed ${seed} (${plan.words}): ${problem}`))
  }
  writeResult('nightly-live', { runs: seed - firstSeed, failed, firstSeed })
  expect(failures).toEqual([])
})
