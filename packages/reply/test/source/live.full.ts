import type { SourceClauseName } from '../../src/testing.ts'
import { testSource } from './live-contract.ts'

const accepts = 'Servers before 1.17 answer 204 to a prompt for an unknown session, and run nothing.'
const skip: Partial<Record<SourceClauseName, string>> = {
  'refuses a prompt for a session that does not exist': accepts,
}

testSource('1.1.65', skip)
testSource('1.2.27', skip)
testSource('1.14.41', skip)
testSource('1.17.19')
testSource('1.18.33')
