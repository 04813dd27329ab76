import { sweepVersion } from './sweep.ts'

sweepVersion('1.14.41', { every: 40 })
