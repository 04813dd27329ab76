import { sweepVersion } from './sweep.ts'

sweepVersion('1.17.19', { every: 40 })
