import { firstSeed } from '../../../scripts/first-seed.ts'
import { playSeeds } from './seeds.ts'

playSeeds({ first: firstSeed('REPLY_SINK_SEED'), count: Number(process.env.REPLY_SINK_PLANS ?? 100_000) })
