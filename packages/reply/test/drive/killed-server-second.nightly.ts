import { secondVersion } from '@reply/testing'
import { testKilledServer } from './killed-server-live.ts'

testKilledServer(secondVersion)
