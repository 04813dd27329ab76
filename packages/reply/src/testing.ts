export { localAgentSkips, readableAgentSkips, unaskingSkips } from './testing/local-agent-skips.ts'
export { type Clause, clausesOf, type Demand, type SourceContractOptions } from './testing/source/contract.ts'
export type { ExistingSession, SourceStage, StagePrompts } from './testing/source/stage.ts'
export { type SourceClauseName, sourceContract } from './testing/source-contract.ts'
