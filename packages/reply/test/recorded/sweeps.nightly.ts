import { listRecordings, openCode2Version } from '@reply/testing'
import { sweepVersion } from './sweep.ts'

for (const version of new Set(listRecordings().map((recording) => recording.version)))
  sweepVersion(version, { every: 1 })

sweepVersion(openCode2Version, { every: 1 })
