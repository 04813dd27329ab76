import { testSource } from './live-contract.ts'

// `live.nightly.ts` has the versions before.
testSource('1.18.33')
