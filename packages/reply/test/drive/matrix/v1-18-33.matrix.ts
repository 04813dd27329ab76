import { testVersion } from './version.ts'

testVersion('1.18.33')
