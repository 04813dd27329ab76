export { readAnswers, type UIAnswer } from './answers.ts'
export type {
  UIAgent,
  UIAsk,
  UIChunk,
  UIChunk7,
  UIDataParts,
  UIFile,
  UIMetadata,
  UIPartInfo,
  UIPartMetadata,
  UIPrompt,
  UIRetracted,
  UIRetry,
  UITodos,
  UIUsage,
} from './chunk.ts'
export { type ChatHandler, type ChatHandlerOptions, type ChatSession, createChatHandler } from './handler.ts'
export {
  createUIProjection,
  type UIMessageLike,
  type UIProjection,
  type UIProjectionOptions,
} from './project/projection.ts'
export { toUIMessageResponse, toUIMessageStream, type UIResponseOptions, type UIStreamOptions } from './stream.ts'
