export { connectSource } from './client/connect-source.ts'
export type { SteadyClock } from './clock.ts'
export type { DriveOptions } from './drive/options.ts'
export type { ToolState } from './part.ts'
export type { SessionRef } from './session-ref.ts'
export { mayActWithoutAsking } from './source/command-arguments.ts'
export { type FileKind, type FileType, fileTypeOf, takenKinds, takesOf } from './source/file-type.ts'
export type { InputPart } from './source/input.ts'
export { createLocalAgent } from './source/local/agent.ts'
export type { LocalAgent, LocalAgentOptions, LocalHistory, LocalHistoryRun } from './source/local/agent-options.ts'
export type { LocalAnswer, LocalAsk, LocalEnding, LocalFile, LocalOutput } from './source/local/output.ts'
export type { LocalChildStart, LocalRun } from './source/local/run.ts'
export type {
  AgentInfo,
  AskAddress,
  AskList,
  Capabilities,
  CommandInfo,
  ConnectionOptions,
  CreateInput,
  Following,
  MessageRead,
  ModelInfo,
  Reach,
  Reading,
  SavedRule,
  SessionInfo,
  SessionQuery,
  SessionRead,
  Source,
  SourceAnswer,
  SourceCommand,
  SourcePrompt,
  TakesTarget,
  WorkStatus,
} from './source/port.ts'
