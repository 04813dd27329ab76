import { skippedBefore1_17, skippedBefore1_18_15, testSource } from './live-contract.ts'

// `live.nightly.ts` has versions between these.
testSource('1.1.65', skippedBefore1_17)
testSource('1.17.19', skippedBefore1_18_15)
testSource('1.18.33')
