import { openCode2Version } from '@reply/testing'
import { testResumed } from './resumed.ts'

testResumed('1.18.33', { how: 'by id', every: 31 })
testResumed('1.18.33', { how: 'by text', every: Number.POSITIVE_INFINITY })
testResumed('1.2.27', { how: 'by text', every: 31 })
testResumed(openCode2Version, { how: 'by id', every: 31 })
