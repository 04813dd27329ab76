export type {
  TelegramApi,
  TelegramFields,
  TelegramFile,
  TelegramInboundApi,
  TelegramPosted,
  TelegramReaction,
  TelegramSignal,
} from './api.ts'
export { type TelegramChatKind, telegramLimits } from './limits.ts'
export { createTelegramPort, renderFor, type TelegramPortOptions } from './port.ts'
export { renderHtml, renderRich } from './render.ts'
export { type TelegramSinkOptions, telegramSink } from './sink.ts'
