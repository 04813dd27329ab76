import { firstSeed } from '../../../../scripts/first-seed.ts'
import { writeResult } from '../drive/matrix/results.ts'
import { playPlans } from './plans.ts'

const plans = process.env.REPLY_PLANS

playPlans({
  generation: 2,
  first: firstSeed('REPLY_SECOND_PLANS_SEED'),
  count: Number(plans ?? 20_000),
  // The page shows whole runs only.
  ...(plans === undefined && { note: (result) => writeResult('nightly-recorded-second', result) }),
})
