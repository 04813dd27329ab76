import { otherAgents } from './agents.ts'
import { testSendFile } from './real.ts'

testSendFile(otherAgents)
