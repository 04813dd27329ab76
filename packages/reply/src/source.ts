export type { SteadyClock } from './clock.ts'
export { connectSource } from './drive/connect-source.ts'
export type { DriveOptions } from './drive/options.ts'
export type {
  AgentInfo,
  AskAddress,
  AskList,
  Capabilities,
  CommandInfo,
  ConnectionOptions,
  CreateInput,
  MessageRead,
  ModelInfo,
  Reach,
  Reading,
  SessionInfo,
  SessionQuery,
  SessionRead,
  Source,
  SourceAnswer,
  SourceCommand,
  SourcePrompt,
  WorkStatus,
} from './source/port.ts'
