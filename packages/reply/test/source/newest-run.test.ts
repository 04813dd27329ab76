import { testNewestRuns } from './newest-run.ts'

testNewestRuns(['1.1.65', '1.18.33'])
