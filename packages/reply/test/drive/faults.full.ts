import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Faulty, type LivePlayed, openFaulty, playLive } from './faulty.ts'
import { problemsOfCuts, problemsOfSeeds } from './live-plans.ts'

vi.setConfig({ testTimeout: 900_000 })

let faulty: Faulty
let whole: LivePlayed

beforeAll(async () => {
  faulty = await openFaulty()
  whole = await playLive(faulty, {})
})
afterAll(async () => await faulty.close())

test('a run that is cut after any of its events is the same', async () => {
  expect(await problemsOfCuts(faulty, { whole, first: 1, step: 1 })).toEqual([])
})

const firstSeed = Number(process.env.REPLY_SEED ?? 1)

test(`40 random plans from seed ${firstSeed} on, 5 with a server restart, lose and duplicate nothing`, async () => {
  expect(await problemsOfSeeds(faulty, { whole, first: firstSeed, count: 40, restarts: 5 })).toEqual([])
})
