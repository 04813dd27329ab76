import { defaultVersion } from '@reply/testing'
import { testKilledTogether } from './killed-together.ts'

testKilledTogether(defaultVersion)
