import { skippedBefore1_17, testSource } from './live-contract.ts'

testSource('1.2.27', skippedBefore1_17)
testSource('1.14.41', skippedBefore1_17)
