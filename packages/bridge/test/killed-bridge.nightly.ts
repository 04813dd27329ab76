import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { type KillStage, startKillStage } from './kills.ts'

const first = firstSeed('REPLY_KILL_SEED')
let stage: KillStage

beforeAll(async () => {
  stage = await startKillStage()
})
afterAll(async () => await stage.close())

describe('killed at random moments', { concurrent: true }, () => {
  test.each(Array.from({ length: 200 }, (_, index) => first + index))(
    'seed %i',
    async (seed) => {
      expect(await stage.play(seed)).toMatchObject({ faults: [] })
    },
    400_000,
  )
})
