import { testUnasked } from './live-unasked.ts'

testUnasked('1.18.33', { runs: 10 })
