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
export {
  type DiscordBridgeRest,
  type DiscordClient,
  type DiscordFile,
  type DiscordRequest,
  type DiscordResponse,
  type DiscordRest,
  discordRestOptions,
} from './api.ts'
export { bridgeChannel } from './bridge.ts'
export { type DiscordChannel, type DiscordChannelOptions, discordChannel } from './channel.ts'
export { type DiscordConnection, type DiscordConnectionOptions, discordConnection } from './connection.ts'
export { DiscordError, type DiscordErrorType } from './error.ts'
export { discordLimits } from './limits.ts'
export { createDiscordPort, type DiscordPortOptions } from './port.ts'
export { escapeDiscord, renderDiscord } from './render.ts'
export { type DiscordSinkOptions, discordSink } from './sink.ts'
export type { DiscordThread } from './thread.ts'
