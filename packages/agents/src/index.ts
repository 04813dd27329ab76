export { type AgentSourceOptions, agentSource } from './agent-source.ts'
