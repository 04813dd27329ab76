import { testVersion } from './version.ts'

testVersion('1.2.27')
