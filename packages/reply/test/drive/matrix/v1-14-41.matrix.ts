import { testVersion } from './version.ts'

testVersion('1.14.41')
