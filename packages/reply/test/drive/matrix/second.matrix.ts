import { openCode2Version } from '@reply/testing'
import { testVersion } from './version.ts'

testVersion(openCode2Version)
