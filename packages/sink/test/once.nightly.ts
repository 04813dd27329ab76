import { playSeeds } from './seeds.ts'

playSeeds({ first: Number(process.env.REPLY_SEED ?? 10_001), count: Number(process.env.REPLY_SINK_PLANS ?? 100_000) })
