import { openCode2Version } from '@reply/testing'
import { testGuarded, testGuardedOld, testGuardedSecond } from './guarded.ts'

for (const version of ['1.1.65', '1.2.27']) testGuardedOld(version)
for (const version of ['1.14.41', '1.17.19', '1.18.34']) testGuarded(version)
testGuardedSecond(openCode2Version)
