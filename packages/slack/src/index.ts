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
export type { SlackApi, SlackBridgeApi, SlackEnvelope, SlackFields, SlackResult, SlackSocket } from './api.ts'
export { bridgeChannel } from './bridge.ts'
export { type SlackChannel, type SlackChannelOptions, slackChannel } from './channel.ts'
export { type SlackConnection, type SlackConnectionOptions, slackConnection } from './connection.ts'
export { SlackError, type SlackErrorType } from './error.ts'
export { slackLimits } from './limits.ts'
export type { SlackRecipient } from './port/stream.ts'
export { createSlackPort, type SlackPortOptions } from './port.ts'
export { renderSlack } from './render.ts'
export { type SlackSinkOptions, slackSink } from './sink.ts'
