export type {
  TelegramApi,
  TelegramFields,
  TelegramFile,
  TelegramInboundApi,
  TelegramMove,
  TelegramPosted,
  TelegramReaction,
  TelegramRichMessage,
  TelegramSignal,
} from './api.ts'
export { type TelegramChannel, type TelegramChannelOptions, telegramChannel } from './channel.ts'
export { TelegramError, type TelegramErrorType } from './error.ts'
export { type TelegramSinkOptions, telegramSink } from './sink.ts'
