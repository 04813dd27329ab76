import { skippedBefore1_17, skippedBefore1_18_15, testSource } from './live-contract.ts'

for (const version of ['1.1.65', '1.2.27', '1.14.41']) testSource(version, skippedBefore1_17)
testSource('1.17.19', skippedBefore1_18_15)
