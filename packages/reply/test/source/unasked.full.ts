import { secondVersion } from '@reply/testing'
import { testUnasked } from './live-unasked.ts'

testUnasked('1.1.65', { runs: 60 })
testUnasked('1.14.41', { runs: 60 })
testUnasked('1.18.33', { runs: 100 })
testUnasked(secondVersion, { runs: 60 })
