import { openCode2Version } from '@reply/testing'
import { testGuarded, testGuardedOld, testGuardedSecond } from './guarded.ts'

testGuardedOld('1.1.65')
for (const version of ['1.14.41', '1.18.34']) testGuarded(version)
testGuardedSecond(openCode2Version)
