import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type KillStage, startKillStage } from './kills.ts'

let stage: KillStage

beforeAll(async () => {
  stage = await startKillStage()
})
afterAll(async () => await stage.close())

describe('killed at random moments', { concurrent: true }, () => {
  test.each(Array.from({ length: 2 }, (_, index) => index + 1))(
    'seed %i',
    async (seed) => {
      expect(await stage.play(seed)).toMatchObject({ faults: [] })
    },
    400_000,
  )
})
