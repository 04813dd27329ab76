import { testLateApprovals } from './late-approvals.ts'

// On the newest version, faults.test.ts does it.
testLateApprovals('1.2.27', 3)
