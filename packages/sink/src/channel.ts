export { systemClock, visible } from '@reply/core'
export type { Priority } from './deliver/operation.ts'
export { type ChatPace, createPacer, type Held, type Pacer, pacerOf } from './deliver/pace.ts'
export { waitForTurn } from './deliver/wait-for-turn.ts'
export { safeOnError } from './error.ts'
export type { Answering, Inbound } from './inbound/inbound.ts'
export { type BoundPlace, placeOf, type SinkPlace } from './inbound/place.ts'
export {
  answerOnce,
  createInboundReceiver,
  type InboundReceiverOptions,
  type ReceiveInbound,
} from './inbound/receive.ts'
export { type SecretRule, secretFault, tokenFault } from './inbound/secret.ts'
export {
  createWebhook,
  type Webhook,
  type WebhookAnswer,
  type WebhookHead,
  type WebhookOptions,
  type WebhookRequest,
} from './inbound/webhook.ts'
export { type Dialect, type ItemPlace, renderMarkdown } from './markdown/dialect.ts'
export { knownTokens, lex, type Token } from './markdown/markdown.ts'
export { type Table, tableText } from './markdown/table.ts'
export type { Actor } from './port/actor.ts'
export { cachedRender, lazyPlain } from './port/cached-render.ts'
export type { Budget, ButtonLimits, Limits } from './port/limits.ts'
export {
  type AppendStream,
  type Attachment,
  type Bubble,
  type Button,
  type ChannelPort,
  type Chat,
  type ChatKind,
  type EditOptions,
  type Form,
  type FormQuestion,
  type MessageRef,
  type NativeStream,
  PortError,
  type PortErrorOptions,
  type PortErrorType,
  type PostOptions,
  type PreviewStream,
  type Render,
  type Rendered,
  type StreamPiece,
  type Task,
  type TypingOptions,
} from './port/port.ts'
