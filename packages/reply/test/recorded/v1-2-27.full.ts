import { sweepVersion } from './sweep.ts'

sweepVersion('1.2.27', { every: 40 })
