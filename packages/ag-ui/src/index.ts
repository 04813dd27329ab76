export type {
  AgUiEvent,
  AgUiEventOf,
  AgUiInterrupt,
  AgUiMessage,
  AgUiMetadata,
  AgUiOutcome,
  AgUiPatch,
  AgUiToolCall,
  AgUiUsage,
} from './event.ts'
export type { AgUiAsk } from './interrupts.ts'
export { type AgUiProjection, type AgUiProjectionOptions, createAgUiProjection } from './projection.ts'
