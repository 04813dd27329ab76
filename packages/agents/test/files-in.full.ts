import { testFilesIn } from './files-in.ts'
import { mainAgents } from './send-file/agents.ts'

testFilesIn(mainAgents)
