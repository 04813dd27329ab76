import { openCode2Version } from '@reply/testing'
import { testGuarded, testGuardedSecond } from './guarded.ts'

// `guarded.nightly.ts` has the versions before.
testGuarded('1.18.33')
testGuarded('1.18.34')
testGuardedSecond(openCode2Version)
