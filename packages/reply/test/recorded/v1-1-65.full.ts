import { sweepVersion } from './sweep.ts'

sweepVersion('1.1.65', { every: 24 })
