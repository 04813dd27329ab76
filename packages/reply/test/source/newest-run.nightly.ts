import { testNewestRuns } from './newest-run.ts'

testNewestRuns(['1.1.65', '1.2.27', '1.14.41', '1.17.19'])
