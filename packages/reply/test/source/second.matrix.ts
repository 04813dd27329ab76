import { secondVersion } from '@reply/testing'
import { testSource } from './live-contract.ts'

testSource(secondVersion, {
  'tells the agent why a permission is rejected': 'The preview build tells the model only that the call failed.',
  'only stores a message without a reply': 'OpenCode 2 keeps it aside until the next prompt.',
})
