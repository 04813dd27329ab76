import { sweepVersion } from './sweep.ts'

for (const version of ['1.2.27', '1.14.41', '1.17.19']) sweepVersion(version, { every: 1 })
