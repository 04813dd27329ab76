import { openCode2Version } from '@reply/testing'
import { testSource } from './live-contract.ts'

testSource(openCode2Version, {
  'tells the agent why a permission is rejected': 'The preview build tells the model only that the call failed.',
  'takes back a prompt that waits, once': 'The preview build has no call for it.',
  'only stores a message without a reply': 'OpenCode 2 keeps it aside until the next prompt.',
})
