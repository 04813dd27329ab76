import { mainAgents } from './agents.ts'
import { testSendFile } from './real.ts'

testSendFile(mainAgents)
