import { claudeAcpAgent, codexAcpAgent, geminiAgent, kiloAgent, kimiAgent, qwenAgent } from './acp-agents.ts'
import type { NewestAgent } from './agent.ts'
import { claudeAgent, codexAgent } from './local-agents.ts'
import { openCodeOne, openCodeTwo } from './opencode-agents.ts'

/** The agents whose newest versions play the scenes, in the order of the table. */
export const newestAgents: readonly NewestAgent[] = [
  ...[claudeAgent, claudeAcpAgent, codexAgent, codexAcpAgent, geminiAgent, qwenAgent],
  ...[openCodeOne, openCodeTwo, kimiAgent, kiloAgent],
]
