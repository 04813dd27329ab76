import { secondVersion } from '@reply/testing'
import { testKilledTogether } from './killed-together.ts'

testKilledTogether(secondVersion)
