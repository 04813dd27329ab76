import { testFilesIn } from './files-in.ts'
import { otherAgents } from './send-file/agents.ts'

testFilesIn(otherAgents)
