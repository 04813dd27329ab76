import { secondVersion } from '@reply/testing'
import { testSource } from './live-contract.ts'

testSource(secondVersion, {
  'only stores a message without a reply': 'OpenCode 2 keeps it aside until the next prompt.',
})
