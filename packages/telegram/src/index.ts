export {
  type Actor,
  type Answering,
  type AnswerOptions,
  answerWith,
  type Chat,
  type Delivery,
  type Inbound,
  type LedgerStore,
  type MayAnswer,
  type MessageRef,
  memoryStore,
  type Policy,
  type Running,
  type Sink,
  SinkError,
  type SinkErrorType,
  type SinkPlace,
  type Undelivered,
  type UndeliveredType,
  type WebhookAnswer,
  type WebhookRequest,
  type Words,
  words,
} from '@reply/sink'
export { fileStore } from '@reply/sink/node'
export type {
  TelegramApi,
  TelegramBridgeApi,
  TelegramFields,
  TelegramFile,
  TelegramInboundApi,
  TelegramPosted,
  TelegramReaction,
  TelegramRichMessage,
  TelegramSignal,
} from './api.ts'
export { bridgeChannel } from './bridge.ts'
export { type TelegramChannel, type TelegramChannelOptions, telegramChannel } from './channel.ts'
export { type TelegramConnection, type TelegramConnectionOptions, telegramConnection } from './connection.ts'
export { TelegramError, type TelegramErrorType } from './error.ts'
export { type TelegramChatKind, telegramLimits } from './limits.ts'
export type { TelegramMove } from './place.ts'
export { createTelegramPort, renderFor, type TelegramPortOptions } from './port.ts'
export { renderHtml, renderRich } from './render.ts'
export { type TelegramSinkOptions, telegramSink } from './sink.ts'
