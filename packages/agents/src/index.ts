export { type AgentOptions, agentSource } from './agent-source.ts'
