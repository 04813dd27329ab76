export { type AnswerOptions, answerWith, type Running } from './answer.ts'
export type {
  TelegramApi,
  TelegramFields,
  TelegramFile,
  TelegramInboundApi,
  TelegramPosted,
  TelegramReaction,
  TelegramSignal,
} from './api.ts'
export { type TelegramChannel, type TelegramChannelOptions, type TelegramPlace, telegramChannel } from './channel.ts'
export { TelegramError, type TelegramErrorType } from './error.ts'
export type { Actor, Answering, Inbound } from './inbound.ts'
export { type TelegramChatKind, telegramLimits } from './limits.ts'
export { createTelegramPort, renderFor, type TelegramPortOptions } from './port.ts'
export { renderHtml, renderRich } from './render.ts'
export { type TelegramSinkOptions, telegramSink } from './sink.ts'
export type { WebhookAnswer, WebhookRequest } from './webhook.ts'
