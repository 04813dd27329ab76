import { secondVersion } from '@reply/testing'
import { sweepVersion } from './sweep.ts'

sweepVersion(secondVersion, { every: 6 })
