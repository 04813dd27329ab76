export { createThoughtReader } from './thoughts/reader.ts'
export { type ThoughtOptions, type ThoughtStream, thoughtsOf } from './thoughts/stream.ts'
export type {
  PlanEntry,
  Thought,
  ThoughtContent,
  ThoughtOf,
  ThoughtType,
  ToolKind,
} from './thoughts/thought.ts'
