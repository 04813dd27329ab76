export {
  type Actor,
  type Answering,
  type AnswerOptions,
  answerWith,
  type Inbound,
  type Running,
  type SinkPlace,
  type WebhookAnswer,
  type WebhookRequest,
} from '@reply/sink'
export type { SlackApi, SlackEnvelope, SlackFields, SlackResult, SlackSocket } from './api.ts'
export { type SlackChannel, type SlackChannelOptions, slackChannel } from './channel.ts'
export { SlackError, type SlackErrorType } from './error.ts'
export { slackLimits } from './limits.ts'
export { createSlackPort, type SlackPortOptions } from './port.ts'
export { renderSlack } from './render.ts'
export { type SlackSinkOptions, slackSink } from './sink.ts'
export type { SlackRecipient } from './stream.ts'
