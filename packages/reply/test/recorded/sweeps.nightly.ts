import { listRecordings, secondVersion } from '@reply/testing'
import { sweepVersion } from './sweep.ts'

for (const version of new Set(listRecordings().map((recording) => recording.version)))
  sweepVersion(version, { every: 1 })

sweepVersion(secondVersion, { every: 1 })
