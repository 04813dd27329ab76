import { playPlans } from './plans.ts'

playPlans({ first: Number(process.env.REPLY_SEED ?? 5001), count: Number(process.env.REPLY_PLANS ?? 50_000) })
