export type { AgUiAnswer } from './answers.ts'
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
export { type AgUiHandler, type AgUiHandlerOptions, type AgUiSession, createAgUiHandler } from './handler.ts'
export type { AgUiAsk } from './interrupts.ts'
export { type AgUiProjection, type AgUiProjectionOptions, createAgUiProjection } from './projection.ts'
export { agUi } from './source/ag-ui.ts'
export type { AgUiResumeEntry } from './source/interrupt.ts'
export type {
  AgUiAgentOptions,
  AgUiInput,
  AgUiOptions,
  AgUiServerOptions,
  AgUiStream,
} from './source/options.ts'
