import { writeResult } from '../drive/matrix/results.ts'
import { playPlans } from './plans.ts'

playPlans({
  first: Number(process.env.REPLY_SEED ?? 5001),
  count: Number(process.env.REPLY_PLANS ?? 50_000),
  note: (result) => writeResult('nightly-recorded', result),
})
