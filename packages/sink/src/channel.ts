export { isAskToken } from './asks/token.ts'
export { createPacer, type Pacer, pacerOf } from './deliver/pace.ts'
export type { SharedBudget } from './deliver/shared-budget.ts'
export { ChannelError } from './error.ts'
export type {
  BridgeChannel,
  BridgeConnection,
  BridgeSinkOptions,
  ChannelHost,
  KnownChat,
} from './inbound/bridge-channel.ts'
export { secretSource, sinkFields, sinkOptionsOf } from './inbound/bridge-config.ts'
export { type ChannelOptions, inboundOptionsOf, placeOf } from './inbound/channel-options.ts'
export { downloadFile } from './inbound/download.ts'
export { createListening } from './inbound/listening.ts'
export { createNotes } from './inbound/notes.ts'
export {
  type Notice,
  type NoticeChannel,
  type NoticeConnection,
  type NoticeFields,
  type NoticeHost,
  type NoticeKind,
  noticeFields,
  noticeKinds,
} from './inbound/notice-channel.ts'
export { createInboundReceiver, NotTakenError } from './inbound/receive.ts'
export type { InboundStatus } from './inbound/reconnect-back-off.ts'
export { createWebhook, type Webhook, type WebhookRoutes, webhookRoutes } from './inbound/webhook.ts'
export { type Dialect, renderMarkdown } from './markdown/dialect.ts'
export { isOpenable } from './markdown/link-text.ts'
export type { Table } from './markdown/table.ts'
export { cachedRender, lazyPlain } from './port/cached-render.ts'
export { callPlatform, uploadTimeoutMs } from './port/call.ts'
export { type ImageSize, imageSize } from './port/image-size.ts'
export type { Budget, FileLimits, Limits } from './port/limits.ts'
export { createToPortError, typeOfStatus } from './port/network.ts'
export type {
  AppendStream,
  Attachment,
  Bubble,
  Button,
  ChannelPort,
  ChatKind,
  EditOptions,
  Form,
  LookedUp,
  LookUpOptions,
  PostOptions,
  PostReport,
  PostReports,
  PreviewStream,
  Render,
  Rendered,
  StreamPiece,
} from './port/port.ts'
export { FileRefusal, ignoreGone, PortError, type PortErrorType } from './port/port-error.ts'
export { keepSecret, quotable, SafeError, secretFault } from './port/secrets.ts'
export type { ChannelSinkOptions } from './sink.ts'
