import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Faulty, type LivePlayed, openWhole } from './faulty.ts'
import { problemsOfCuts, problemsOfRaces, problemsOfSeeds } from './live-plans.ts'
import { approveLate } from './scenes.ts'

vi.setConfig({ testTimeout: 900_000 })

let faulty: Faulty
let whole: LivePlayed

beforeAll(async () => {
  ;({ faulty, whole } = await openWhole())
})
afterAll(async () => await faulty.close())

test('a run that is cut after every third of its events is the same', async () => {
  expect(await problemsOfCuts(faulty, { whole, first: 1, step: 3 })).toEqual([])
})

test('an abort that races the end settles the reply once, either way', async () => {
  const eventsBefore = Array.from({ length: 14 }, (_, index) => 12 - index)
  expect(await problemsOfRaces(faulty, eventsBefore)).toEqual([])
})

test.each(['late', 'lateChild'] as const)('an abort makes a late approval ineffective (%s)', async (script) => {
  expect(await approveLate(faulty, script)).toEqual([])
})

test('40 random plans from seed 1 on, 5 with a server restart, lose and duplicate nothing', async () => {
  expect(await problemsOfSeeds(faulty, { whole, first: 1, count: 40, restarts: 5 })).toEqual([])
})
