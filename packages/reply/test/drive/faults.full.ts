import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Faulty, type LivePlayed, openFaulty, playLive } from './faulty.ts'
import { problemsOfCuts } from './live-plans.ts'

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
