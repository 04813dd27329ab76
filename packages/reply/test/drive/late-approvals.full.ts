import { testLateApprovals } from './late-approvals.ts'

for (const version of ['1.2.27', '1.14.41', '1.18.33']) testLateApprovals(version, 10)
