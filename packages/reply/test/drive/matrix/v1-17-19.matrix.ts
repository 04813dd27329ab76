import { testVersion } from './version.ts'

testVersion('1.17.19')
