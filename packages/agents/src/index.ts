export { type AgentOptions, agentNames, agentSource } from './agent-source.ts'
