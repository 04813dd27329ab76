import type { SourceClauseName } from '../../src/testing.ts'
import { testSource } from './live-contract.ts'

const skipped1_17: Partial<Record<SourceClauseName, string>> = {
  "keeps a message's id": 'Servers before 1.18.15 look for the newest message by its id.',
}
const skipped: Partial<Record<SourceClauseName, string>> = {
  ...skipped1_17,
  'refuses a prompt for a session that does not exist':
    'Servers before 1.17 answer 204 to a prompt for an unknown session, and run nothing.',
  'fails as gone for an ask that was answered': 'Servers before 1.17 answer 200 to a late answer, and change nothing.',
}

testSource('1.1.65', skipped)
testSource('1.2.27', skipped)
testSource('1.14.41', skipped)
testSource('1.17.19', skipped1_17)
testSource('1.18.33')
