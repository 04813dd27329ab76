import { testKilledServer } from './killed-server-live.ts'

testKilledServer('1.18.33')
