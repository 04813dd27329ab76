import { openCode2Version } from '@reply/testing'
import { sweepVersion } from './sweep.ts'

sweepVersion(openCode2Version, { every: 6 })
