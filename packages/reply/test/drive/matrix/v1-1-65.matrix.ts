import { testVersion } from './version.ts'

testVersion('1.1.65')
