import { testSubAgents } from './desk-sub-agents.ts'

testSubAgents(30)
