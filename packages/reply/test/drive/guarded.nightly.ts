import { testGuarded, testGuardedOld } from './guarded.ts'

testGuardedOld('1.2.27')
testGuarded('1.17.19')
