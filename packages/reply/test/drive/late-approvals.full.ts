import { testLateApprovals } from './late-approvals.ts'

// `faults.nightly.ts` has more of them, also on versions before.
testLateApprovals('1.18.33', 10)
