import { edges, testRecorded } from './view-recorded.ts'

// `view-recorded.nightly.ts` has the versions between.
testRecorded((version) => edges.includes(version))
