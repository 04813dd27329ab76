import { testNewestRuns } from './newest-run.ts'

testNewestRuns(['1.18.33'])
