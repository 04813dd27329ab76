import { openCode2Version } from '@reply/testing'
import { testUnasked } from './live-unasked.ts'

testUnasked('1.1.65', { runs: 60 })
testUnasked('1.14.41', { runs: 60 })
testUnasked('1.18.33', { runs: 100 })
testUnasked(openCode2Version, { runs: 60 })
