import { testGuarded, testGuardedOld } from './guarded.ts'

for (const version of ['1.1.65', '1.2.27']) testGuardedOld(version)
for (const version of ['1.14.41', '1.17.19']) testGuarded(version)
