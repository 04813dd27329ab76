import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Faulty, type LivePlayed, openFaulty, openWhole } from './faulty.ts'
import { allowAfterStop } from './late-approvals.ts'
import { livePlanBySeed, problemsOfCuts, problemsOfLive } from './live-plans.ts'
import { writeResult } from './matrix/results.ts'

const runs = Number(process.env.REPLY_LIVE_PLANS ?? 500)
const firstSeed = Number(process.env.REPLY_SEED ?? 1)

let faulty: Faulty
let whole: LivePlayed

beforeAll(async () => {
  ;({ faulty, whole } = await openWhole())
})
afterAll(async () => await faulty.close())

test('a run that is cut after any of its events is the same', { timeout: 1_800_000 }, async () => {
  expect(await problemsOfCuts(faulty, { whole, first: 1, step: 1 })).toEqual([])
})

test('of 100 commands on each of three versions that are allowed within 50 ms after Stop none runs', {
  timeout: 1_800_000,
}, async () => {
  const failures: string[] = []
  for (const version of ['1.2.27', '1.14.41', '1.18.33']) {
    const opened = await openFaulty(version)
    failures.push(...(await allowAfterStop(opened, 100)).map((problem) => `${version}: ${problem}`))
    await opened.close()
  }
  writeResult('nightly-approvals', { runs: 300, failed: failures.length })
  expect(failures).toEqual([])
})

test(`${runs} live plans by chance from seed ${firstSeed} on; every 20th restarts the server`, {
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
