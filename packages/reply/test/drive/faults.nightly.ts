import { afterAll, beforeAll, expect, test } from 'vitest'
import { firstSeed } from '../../../../scripts/first-seed.ts'
import { type Faulty, type LivePlayed, openFaulty, openWhole } from './faulty.ts'
import { allowAfterStop } from './late-approvals.ts'
import { livePlanBySeed, problemsOfCuts, problemsOfLive } from './live-plans.ts'
import { writeResult } from './matrix/results.ts'

const runs = Number(process.env.REPLY_LIVE_PLANS ?? 500)
const first = firstSeed('REPLY_LIVE_SEED')

let faulty: Faulty
let whole: LivePlayed

beforeAll(async () => {
  ;({ faulty, whole } = await openWhole())
})
afterAll(async () => await faulty.close())

test('a run cut after any one of its events ends in the same reply', { timeout: 1_800_000 }, async () => {
  expect(await problemsOfCuts(faulty, { whole, first: 1, step: 1 })).toEqual([])
})

test('of 100 commands allowed within 50 ms after Stop none runs, on each of three versions', {
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

test(`${runs} random live plans from seed ${first} on; every 20th restarts the server`, {
  timeout: 3_600_000,
}, async () => {
  const failures: string[] = []
  let failed = 0
  let seed = first
  for (; seed < first + runs && failures.length < 25; seed++) {
    const plan = livePlanBySeed(seed, { events: whole.events, ...(seed % 20 === 0 && { restart: faulty.restart }) })
    const found = await problemsOfLive(faulty, plan, whole)
    if (found.length > 0) failed += 1
    failures.push(...found.slice(0, 2).map((problem) => `seed ${seed} (${plan.words}): ${problem}`))
  }
  // The page shows whole runs only.
  if (process.env.REPLY_LIVE_PLANS === undefined)
    writeResult('nightly-live', { runs: seed - first, failed, firstSeed: first })
  expect(failures).toEqual([])
})
