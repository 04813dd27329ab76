import { sweepVersion } from './sweep.ts'

sweepVersion('1.18.33', { every: 16 })
