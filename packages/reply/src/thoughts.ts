export {
  type Agent,
  type AgentOptions,
  createAgent,
  type TurnOptions,
  type TypedTurnOptions,
} from './thoughts/agent.ts'
export type { ThoughtContent } from './thoughts/decode/content.ts'
export type { ValueSchema } from './thoughts/decode/schema.ts'
export { createThoughtReader } from './thoughts/reader.ts'
export { type ThoughtOptions, type ThoughtStream, thoughtsOf } from './thoughts/stream.ts'
export type {
  PlanEntry,
  Thought,
  ThoughtOf,
  ThoughtType,
  ToolKind,
} from './thoughts/thought.ts'
export type { OfferedTools, Tool, ToolHost, Tools } from './thoughts/tool.ts'
