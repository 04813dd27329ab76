import { secondVersion } from '@reply/testing'
import { testVersion } from './version.ts'

testVersion(secondVersion)
