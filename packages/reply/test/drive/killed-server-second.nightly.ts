import { openCode2Version } from '@reply/testing'
import { testKilledServer } from './killed-server-live.ts'

testKilledServer(openCode2Version)
