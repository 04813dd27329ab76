import { firstSeed } from '../../../../scripts/first-seed.ts'
import { writeResult } from '../drive/matrix/results.ts'
import { playPlans } from './plans.ts'

const plans = process.env.REPLY_PLANS

playPlans({
  first: firstSeed('REPLY_PLANS_SEED'),
  count: Number(plans ?? 50_000),
  // The page shows whole runs only.
  ...(plans === undefined && { note: (result) => writeResult('nightly-recorded', result) }),
})
